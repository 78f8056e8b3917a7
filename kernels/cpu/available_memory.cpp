#include "kernels/available_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "kernels/cpu/control_groups.hpp"

namespace tenax::kernels {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// What stands in `file`, or `otherwise` where that is no number ("max") or there is no such file.
std::size_t number_in(const fs::path& file, std::size_t otherwise) {
  std::ifstream stream(file);
  std::size_t number = 0;
  return stream >> number ? number : otherwise;
}

/// The number after `name` in a file of a name and a number a line, or `otherwise`.
std::size_t number_after(const std::string& name, const fs::path& file, std::size_t otherwise) {
  std::ifstream stream(file);
  std::string word;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name) || line.find_first_of(" \t") != name.size()) continue;
    return std::stoull(line.substr(name.size()));
  }
  return otherwise;
}

/// The names that the two versions of control groups have for the same things.
struct GroupFiles {
  const char *limit, *usage;
  std::string pages_prefix;  ///< of the counts that include groups below
};
const GroupFiles kVersions[] = {{"memory.max", "memory.current", ""},
                                {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"}};

std::size_t limit_of(const fs::path& group) {
  std::size_t limit = kNoLimit;
  for (const GroupFiles& files : kVersions) limit = std::min(limit, number_in(group / files.limit, kNoLimit));
  return limit;
}

std::size_t left_in(const fs::path& group, const GroupFiles& files) {
  const std::size_t limit = number_in(group / files.limit, kNoLimit);
  if (limit == kNoLimit) return kNoLimit;
  const fs::path statistics = group / "memory.stat";
  const std::size_t pages = number_after(files.pages_prefix + "inactive_file", statistics, 0) +
                            number_after(files.pages_prefix + "active_file", statistics, 0);
  const std::size_t used = number_in(group / files.usage, 0);
  const std::size_t held = used - std::min(used, pages);
  return limit - std::min(limit, held);
}

}  // namespace

std::size_t usable_memory_bytes() {
  std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  for_each_control_group("memory", "/",
                         [&](const fs::path& group) { bytes = std::min(bytes, limit_of(group)); });
  return bytes;
}

std::size_t available_memory_bytes(const fs::path& root) {
  constexpr std::size_t kKib = 1024, kUnknown = kNoLimit / kKib;
  std::size_t bytes = kKib * number_after("MemAvailable:", root / "proc/meminfo", kUnknown);
  for_each_control_group("memory", root, [&](const fs::path& group) {
    for (const GroupFiles& files : kVersions) bytes = std::min(bytes, left_in(group, files));
  });
  return bytes;
}

}  // namespace tenax::kernels
