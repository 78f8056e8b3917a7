#include "app/training/algorithms_file.hpp"

#include <map>
#include <sstream>

#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

std::filesystem::path file_in(const std::filesystem::path& directory) { return directory / "algorithms.txt"; }

/// What a line is about: all but its last field.
std::string operation_of(const std::string& line) { return line.substr(0, line.rfind(" | ")); }

}  // namespace

std::string read_algorithms(const std::filesystem::path& directory) {
  std::string text;
  const auto file = file_in(directory);
  const std::error_code error = io::read_text_file(file, text);
  if (error && error != std::errc::no_such_file_or_directory)
    throw kernels::Error(kernels::Scope::rank, "cannot read " + file.string() + ": " + error.message());
  return text;
}

std::string merged_algorithms(const std::vector<std::string>& choices_of_rank) {
  std::map<std::string, std::string> line_of_operation;
  for (const std::string& choices : choices_of_rank) {
    std::istringstream lines(choices);
    for (std::string line; std::getline(lines, line);) line_of_operation.emplace(operation_of(line), line);
  }
  std::string text;
  for (const auto& [operation, line] : line_of_operation) text += line + "\n";
  return text;
}

void write_algorithms(const std::filesystem::path& directory, const std::string& text) {
  if (!text.empty()) io::write_file_atomically(file_in(directory), text);
}

}  // namespace tenax::app
