#include "kernels/cpu/host_machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "kernels/cpu/control_groups.hpp"
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

// The cores that a group's share of processor time is worth: "quota period" in one file (version 2; "max" is none), or one
// file each (-1 is none).
int cores_in(const std::filesystem::path& folder, int otherwise) {
  std::ifstream both(folder / "cpu.max"), first(folder / "cpu.cfs_quota_us"),
      second(folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(both >> quota >> period) && !(first >> quota && second >> period)) return otherwise;
  if (quota <= 0 || period <= 0) return otherwise;
  return std::min(otherwise, std::max(1, static_cast<int>(std::ceil(quota / period))));
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

int usable_cores() {
  cpu_set_t usable;  // too small a set on the largest hosts: then all of theirs
  int cores = sched_getaffinity(0, sizeof usable, &usable) == 0
                  ? CPU_COUNT(&usable)
                  : static_cast<int>(std::thread::hardware_concurrency());
  cores = std::max(1, cores);
  for_each_control_group("cpu", "/",
                         [&](const std::filesystem::path& folder) { cores = cores_in(folder, cores); });
  return cores;
}

}  // namespace tenax::kernels
