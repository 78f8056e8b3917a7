#include "comm/transport/job_secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "comm/failure.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

JobSecret JobSecret::draw() {
  JobSecret secret;
  fill_randomly(secret.bytes_);
  return secret;
}

JobSecret JobSecret::share(ControlGroup& control) {
  JobSecret secret;
  control.agree([&] {
    if (control.rank() == 0) secret = draw();
  });
  const std::string mine(reinterpret_cast<const char*>(secret.bytes_.data()), kBytes);
  const std::string drawn = control.broadcast(mine, 0);
  std::memcpy(secret.bytes_.data(), drawn.data(), kBytes);
  return secret;
}

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR)
      throw kernels::Error(
          kernels::Scope::rank,
          "the kernel of " + this_host() + " gives no random numbers (" + std::strerror(errno) + ")");
  }
}

}  // namespace tenax::comm
