#include "comm/transport/job_secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "comm/failure.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

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

std::string JobSecret::text() const {
  std::string text;
  for (const std::byte byte : bytes_)
    for (const int shift : {4, 0}) text += kDigits[std::to_integer<std::size_t>(byte >> shift) % 16];
  return text;
}

JobSecret JobSecret::parse(const std::string& text) {
  if (text.size() != 2 * kBytes || text.find_first_not_of(kDigits) != std::string::npos)
    throw kernels::Error(kernels::Scope::rank, "a job's secret is " + std::to_string(2 * kBytes) +
                                                   " hexadecimal digits; what was "
                                                   "given has " +
                                                   std::to_string(text.size()) +
                                                   " characters or others than these");
  JobSecret secret;
  for (std::size_t i = 0; i < kBytes; ++i)
    secret.bytes_[i] = static_cast<std::byte>(16 * kDigits.find(text[2 * i]) + kDigits.find(text[2 * i + 1]));
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
