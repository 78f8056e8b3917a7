#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "comm/verbs.hpp"
#include "comm/verbs/frame.hpp"

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

// As mlx5 measures them: requests of up to 320 bytes, and completions of 64 for each send and receive.
std::int64_t queue_bytes(std::size_t ring_bytes) {
  constexpr std::int64_t kOfFrame = 512, kOfConnection = 128 << 10;
  return verbs::RingSize{ring_bytes}.frames() * kOfFrame + kOfConnection +
         2 * static_cast<std::int64_t>(verbs::kAnswerPage);
}

std::optional<std::int64_t> locked_memory_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || may_lock_any())
    return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace tenax::comm
