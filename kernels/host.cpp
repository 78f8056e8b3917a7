#include "kernels/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <thread>

#include "kernels/number_text.hpp"

namespace tenax::kernels {
namespace {

namespace fs = std::filesystem;

/// Calls `visit` with the folder of each control group (Linux's, version 1 or 2) that this process is in and that may
/// limit what `controller` is about, and of its ancestors; some may not exist. `root`: the folder that holds /proc and
/// /sys. Inside a container the path that Linux reports may lie above the mount: then only the mount's own root is found,
/// which is the container's group.
void for_each_control_group(const std::string& controller, const fs::path& root,
                            const std::function<void(const fs::path&)>& visit) {
  std::ifstream groups(root /
                       "proc/self/cgroup");  // lines "id:controllers:/path"; version 2 has no controllers
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string controllers = "," + line.substr(line.find(':') + 1, path - line.find(':') - 1) + ",";
    const bool is_version_2 = line.starts_with("0::");
    if (!is_version_2 && controllers.find("," + controller + ",") == std::string::npos) continue;
    const fs::path mount = root / "sys/fs/cgroup" / (is_version_2 ? "" : controller);
    visit(mount);
    for (std::string group = line.substr(path + 2); !group.empty();
         group.erase(group.find('/') == std::string::npos ? 0 : group.find_last_of('/')))
      visit(mount / group);
  }
}

const char* vector_extension() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  if (__builtin_cpu_supports("avx")) return "AVX";
  return "SSE";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "scalar";
#endif
}

// The cores that a group's share of processor time is worth: "quota period" in one file (version 2; "max" is none), or one
// file each (-1 is none).
int cores_in(const fs::path& folder, int otherwise) {
  std::ifstream both(folder / "cpu.max"), first(folder / "cpu.cfs_quota_us"),
      second(folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(both >> quota >> period) && !(first >> quota && second >> period)) return otherwise;
  if (quota <= 0 || period <= 0) return otherwise;
  return std::min(otherwise, std::max(1, static_cast<int>(std::ceil(quota / period))));
}

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

/// Of the core that the folder is about, as its link "node1" says; −1: there is none.
int numa_node_in(const fs::path& core) {
  constexpr std::string_view kNode = "node";
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(core, none))
    if (const std::string name = entry.path().filename(); name.starts_with(kNode))
      if (const auto node = number_of<int>(std::string_view(name).substr(kNode.size()))) return *node;
  return -1;
}

}  // namespace

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    if (const auto colon = line.find(": "); colon != std::string::npos) model = line.substr(colon + 2);
    break;
  }
  return model + ", " + vector_extension();
}

std::filesystem::path user_cache_directory() {
  const auto absolute_of = [](const char* name) {
    const char* const value = std::getenv(name);
    return value && *value == '/' ? fs::path(value) : fs::path();
  };
  const fs::path cache = absolute_of("XDG_CACHE_HOME"), home = absolute_of("HOME");
  return !cache.empty() || home.empty() ? cache : home / ".cache";
}

int usable_cores() {
  cpu_set_t usable;  // too small a set on the largest hosts: then all of theirs
  int cores = sched_getaffinity(0, sizeof usable, &usable) == 0
                  ? CPU_COUNT(&usable)
                  : static_cast<int>(std::thread::hardware_concurrency());
  cores = std::max(1, cores);
  for_each_control_group("cpu", "/", [&](const fs::path& folder) { cores = cores_in(folder, cores); });
  return cores;
}

std::optional<int> bound_numa_node(const fs::path& root) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return std::nullopt;
  std::set<int> nodes;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &usable))
      nodes.insert(numa_node_in(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(core))));
  return nodes.size() == 1 && *nodes.begin() >= 0 ? std::optional(*nodes.begin()) : std::nullopt;
}

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
