#include "io/run/iteration_text.hpp"

#include <cmath>

#include "io/csv_fields.hpp"
#include "io/text.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

using kernels::Error;
using kernels::Scope;

std::string_view first_line(std::string_view text) {
  std::string_view line;
  while (!text.empty() && is_comment(line)) line = take_line(text);
  return is_comment(line) ? std::string_view() : line;
}

bool is_comment(std::string_view line) { return line.empty() || line.front() == '#'; }

std::string read_iteration_text(const std::filesystem::path& file) {
  std::string text;
  if (const auto failure = read_text_file(file, text))
    throw Error(Scope::rank, file.string() + ": cannot be read: " + failure.message());
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

std::string add_iteration(IterationTimes& times, const IterationTime& next) {
  if (!std::isfinite(next.seconds) || next.seconds <= 0) return "seconds must be finite and above 0";
  if (!times.empty() && next.iteration <= times.back().iteration) return "iterations must increase";
  times.push_back(next);
  return {};
}

void check_line(const std::filesystem::path& file, std::size_t line, const std::string& fault) {
  if (!fault.empty()) throw Error(Scope::rank, file.string() + ":" + std::to_string(line) + ": " + fault);
}

}  // namespace tenax::io
