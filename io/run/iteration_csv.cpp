#include <optional>
#include <string>

#include "io/csv_fields.hpp"
#include "io/run/iteration_text.hpp"

namespace tenax::io {
namespace {

/// Where the columns stand.
struct Columns {
  std::optional<std::size_t> iteration, seconds, masked;
};

/// What is wrong with the header; empty if nothing.
std::string read_header(std::string_view line, Columns& columns) {
  for (std::size_t i = 0; !line.empty(); ++i) {
    const std::string_view name = take_field(line);
    std::optional<std::size_t>* const column = name == "iteration" ? &columns.iteration
                                               : name == "seconds" ? &columns.seconds
                                               : name == "masked"  ? &columns.masked
                                                                   : nullptr;
    if (column == nullptr) continue;
    if (*column) return "the header names " + std::string(name) + " twice";
    *column = i;
  }
  const bool is_complete = columns.iteration && columns.seconds;
  return is_complete ? "" : "expected a header that names the columns iteration and seconds";
}

std::string read_row(std::string_view line, const Columns& columns, IterationTimes& times) {
  std::optional<std::int64_t> iteration;
  std::optional<double> seconds;
  std::optional<int> masked = columns.masked ? std::nullopt : std::optional(0);
  for (std::size_t i = 0; !line.empty(); ++i) {
    const std::string_view field = take_field(line);
    if (i == columns.iteration) iteration = number_of<std::int64_t>(field);
    if (i == columns.seconds) seconds = number_of<double>(field);
    if (i == columns.masked) masked = number_of<int>(field);
  }
  if (!iteration) return "iteration is no whole number";
  if (!seconds) return "seconds is no number";
  if (!masked || *masked < 0 || *masked > 1) return "masked is neither 0 nor 1";
  return add_iteration(times, {.iteration = *iteration, .seconds = *seconds, .is_masked = *masked == 1});
}

}  // namespace

IterationTimes parse_iteration_csv(const std::filesystem::path& file, std::string_view text) {
  IterationTimes times;
  Columns columns;
  bool has_header = false;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_line(rest);
    ++number;
    if (is_comment(line)) continue;
    check_line(file, number, has_header ? read_row(line, columns, times) : read_header(line, columns));
    has_header = true;
  }
  if (!has_header) check_line(file, 1, read_header("", columns));
  return times;
}

}  // namespace tenax::io
