#include "app/training/start_elsewhere.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>

#include "io/posix_file.hpp"
#include "io/whole_file.hpp"
#include "kernels/number_text.hpp"

namespace tenax::app {
namespace {

constexpr const char* kExcludedFile = "exclude_hosts.txt";

/// 0 where it is unset or no number.
int number_in(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value ? kernels::number_of<int>(value).value_or(0) : 0;
}

/// As Slurm calls it: without its domain.
std::string node_of(const std::string& host) { return host.substr(0, host.find('.')); }

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::string text;
  const std::error_code failure = io::read_text_file(file, text);
  if (failure && failure != std::errc::no_such_file_or_directory) io::throw_file_error("read", file, failure);
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace

int spare_hosts(const Environment& environment, const std::vector<std::string>& used,
                const std::filesystem::path& run_directory) {
  const char* const requeue = environment("TENAX_REQUEUE");
  if (requeue && std::string_view(requeue) == "1") return std::numeric_limits<int>::max();
  std::set<std::string> taken;
  for (const std::string& host : used) taken.insert(node_of(host));
  for (const std::string& host : lines_of(run_directory / kExcludedFile)) taken.insert(node_of(host));
  return std::max(0, number_in(environment, "SLURM_JOB_NUM_NODES") - static_cast<int>(taken.size()));
}

void exclude_hosts(const std::filesystem::path& run_directory, const std::vector<std::string>& hosts) {
  const std::filesystem::path file = run_directory / kExcludedFile;
  std::vector<std::string> excluded = lines_of(file);
  for (const std::string& host : hosts)
    if (std::find(excluded.begin(), excluded.end(), host) == excluded.end()) excluded.push_back(host);
  std::string text;
  for (const std::string& host : excluded) text += host + "\n";
  io::write_file_atomically(file, text);
}

}  // namespace tenax::app
