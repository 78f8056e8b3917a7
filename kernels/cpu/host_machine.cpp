#include "kernels/cpu/host_machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "kernels/device.hpp"

namespace tenax::kernels {
namespace {

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

// The limit in `file`, or `otherwise` when there is none ("max", or no such file).
std::size_t limit_in(const std::string& file, std::size_t otherwise) {
  std::ifstream stream(file);
  std::size_t bytes = 0;
  return stream >> bytes ? std::min(bytes, otherwise) : otherwise;
}

// The cores that a group's share of processor time is worth: "quota period" in one file (version 2; "max" is none), or one
// file each (-1 is none).
int cores_in(const std::string& folder, int otherwise) {
  std::ifstream both(folder + "/cpu.max"), first(folder + "/cpu.cfs_quota_us"),
      second(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(both >> quota >> period) && !(first >> quota && second >> period)) return otherwise;
  if (quota <= 0 || period <= 0) return otherwise;
  return std::min(otherwise, std::max(1, static_cast<int>(std::ceil(quota / period))));
}

// visit(folder) for the groups of this process that may limit what `controller` is about, and their ancestors. Inside a
// container the path that the kernel reports may lie above what is mounted: then only the mount's own root is found, which
// is the container's group.
template <class Visit>
void for_each_group(const std::string& controller, const Visit& visit) {
  std::ifstream groups("/proc/self/cgroup");  // lines "id:controllers:/path"; version 2 has no controllers
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string controllers = "," + line.substr(line.find(':') + 1, path - line.find(':') - 1) + ",";
    const bool is_version_2 = line.starts_with("0::");
    if (!is_version_2 && controllers.find("," + controller + ",") == std::string::npos) continue;
    const std::string mount = "/sys/fs/cgroup" + (is_version_2 ? "" : "/" + controller);
    visit(mount);
    for (std::string group = line.substr(path + 1); group.size() > 1; group.erase(group.find_last_of('/')))
      visit(mount + group);
  }
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

std::size_t usable_memory_bytes() {
  std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  for_each_group("memory", [&](const std::string& folder) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) bytes = limit_in(folder + file, bytes);
  });
  return bytes;
}

int usable_cores() {
  cpu_set_t usable;  // too small a set on the largest hosts: then all of theirs
  int cores = sched_getaffinity(0, sizeof usable, &usable) == 0
                  ? CPU_COUNT(&usable)
                  : static_cast<int>(std::thread::hardware_concurrency());
  cores = std::max(1, cores);
  for_each_group("cpu", [&](const std::string& folder) { cores = cores_in(folder, cores); });
  return cores;
}

}  // namespace tenax::kernels
