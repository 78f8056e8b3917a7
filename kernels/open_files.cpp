#include "kernels/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace tenax::kernels {
namespace {

constexpr rlim_t kMostOpenFiles = 65536, kUsualOpenFiles = 1024;

/// Zeros where the kernel does not say.
rlimit open_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit : rlimit{};
}

}  // namespace

std::size_t open_files_limit() { return open_files().rlim_cur; }

void raise_open_files_limit() {
  rlimit limit = open_files();
  const rlim_t most = std::min(limit.rlim_max, kMostOpenFiles);
  if (most <= limit.rlim_cur) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string more_open_files_advice() {
  const rlimit now = open_files();
  const rlim_t needed = std::max(2 * now.rlim_cur, kUsualOpenFiles);
  std::string advice =
      "allow more: ulimit -n " + std::to_string(needed) + "; now " + std::to_string(now.rlim_cur);
  if (needed > now.rlim_max)
    advice +=
        ", and the administrator allows " + std::to_string(now.rlim_max) + " (limits.conf, LimitNOFILE)";
  return advice;
}

}  // namespace tenax::kernels
