#include "io/run/call_log.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "io/csv_fields.hpp"
#include "io/text.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using kernels::Error;
using kernels::Scope;

constexpr double kMostSeconds = 1e15;  // of a time; differences are finite, too

std::optional<CallKind> kind_of(std::string_view text) {
  const std::string_view name = take_field(text);
  const auto bytes = number_of<std::int64_t>(take_field(text));
  const bool ends = text.find(',') == std::string_view::npos;
  const auto ranks = number_of<std::int64_t>(trimmed(text));
  if (name.empty() || !bytes || *bytes < 0 || !ranks || *ranks < 0 || !ends) return std::nullopt;
  return CallKind{.name = std::string(name), .bytes = *bytes, .ranks = *ranks};
}

/// Takes a file's lines, one after the other.
class LogLines {
 public:
  /// What is wrong with `line`; empty if nothing.
  std::string add(std::string_view line) {
    if (line.empty() || line.front() == '#') return {};
    if (!has_header_) return take_header(line);
    const auto seconds = number_of<double>(take_field(line));
    if (!seconds || !(std::abs(*seconds) <= kMostSeconds))
      return "expected seconds,call,bytes,ranks: seconds is no number";
    if (!log_.seconds.empty() && *seconds < log_.seconds.back())
      return "a call that began before the one above it";
    const auto kind = kind_number(line);
    if (!kind) return "expected seconds,call,bytes,ranks: a name and two whole numbers, neither below 0";
    log_.seconds.push_back(*seconds);
    log_.kind_of_call.push_back(*kind);
    return {};
  }
  bool has_header() const { return has_header_; }
  CallLog take() { return std::move(log_); }

 private:
  std::string take_header(std::string_view line) {
    for (std::string_view header = kCallLogHeader; !header.empty();)
      if (take_field(line) != take_field(header)) return "expected the header " + std::string(kCallLogHeader);
    has_header_ = line.empty();
    return has_header_ ? "" : "expected the header " + std::string(kCallLogHeader);
  }

  /// The same text is parsed once.
  std::optional<std::uint32_t> kind_number(std::string_view text) {
    if (const auto known = kind_of_text_.find(text); known != kind_of_text_.end()) return known->second;
    const auto kind = kind_of(text);
    if (!kind) return std::nullopt;
    const auto [place, is_new] =
        number_of_kind_.try_emplace(*kind, static_cast<std::uint32_t>(log_.kinds.size()));
    if (is_new) log_.kinds.push_back(*kind);
    return kind_of_text_[text] = place->second;
  }

  bool has_header_ = false;
  std::unordered_map<std::string_view, std::uint32_t> kind_of_text_;  // views of the file's text
  std::map<CallKind, std::uint32_t> number_of_kind_;
  CallLog log_;
};

}  // namespace

CallLog read_call_log(const std::filesystem::path& file) {
  std::string text;
  if (const auto failure = read_text_file(file, text))
    throw Error(Scope::rank, "cannot open " + file.string() + ": " + failure.message());
  LogLines lines;
  std::size_t number_of_line = 0;
  for (std::string_view rest = without_byte_order_mark(text); !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size() - 1);
    ++number_of_line;
    const std::string fault = lines.add(trimmed(rest.substr(0, end + (rest[end] != '\n'))));
    if (!fault.empty())
      throw Error(Scope::rank, file.string() + ":" + std::to_string(number_of_line) + ": " + fault);
    rest.remove_prefix(end + 1);
  }
  if (!lines.has_header())
    throw Error(Scope::rank, file.string() + ":1: expected the header " + std::string(kCallLogHeader));
  return lines.take();
}

}  // namespace tenax::io
