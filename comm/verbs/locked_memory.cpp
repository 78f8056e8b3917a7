#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "comm/verbs.hpp"

namespace tenax::comm {
namespace {

/// Whether the kernel counts this process's locked memory at all.
bool may_lock_any() {
  constexpr int kCapIpcLock = 14;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    std::uint64_t capabilities = 0;
    std::istringstream(line.substr(line.find(':') + 1)) >> std::hex >> capabilities;
    return (capabilities >> kCapIpcLock & 1) != 0;
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> locked_memory_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || may_lock_any())
    return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace tenax::comm
