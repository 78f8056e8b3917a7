#include "kernels/cpu/host_machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

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

// The smallest limit of a group and its ancestors. Inside a container the path that the kernel reports may
// lie above what is mounted: then only the mount's own root is found, which is the container's group.
std::size_t group_limit(const std::string& mount, std::string group, const std::string& file,
                        std::size_t otherwise) {
  std::size_t limit = limit_in(mount + "/" + file, otherwise);
  while (group.size() > 1) {
    limit = limit_in(mount + group + "/" + file, limit);
    group.erase(group.find_last_of('/'));
  }
  return limit;
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
  std::ifstream groups("/proc/self/cgroup");  // lines "id:controllers:/path"; version 2 has no controllers
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string group = line.substr(path + 1);
    if (line.starts_with("0::")) bytes = group_limit("/sys/fs/cgroup", group, "memory.max", bytes);
    if (line.find(":memory:") != std::string::npos)
      bytes = group_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", bytes);
  }
  return bytes;
}

}  // namespace tenax::kernels
