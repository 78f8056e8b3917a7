#include "comm/transport/socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "kernels/error.hpp"
#include "kernels/open_files.hpp"

namespace tenax::comm {
namespace {

constexpr std::int64_t kHour_ms = 3600 * 1000;

/// What is left until the deadline, as ppoll wants it.
timespec remaining(kernels::Deadline deadline) {
  using std::chrono::nanoseconds;
  const auto left =
      std::chrono::duration_cast<nanoseconds>(deadline.when() - kernels::Deadline::Clock::now());
  const std::int64_t count = std::max<std::int64_t>(left.count(), 0);
  return {static_cast<time_t>(count / 1000000000), static_cast<long>(count % 1000000000)};
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

int FileDescriptor::release() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor;
}

bool wait_for_socket(int descriptor, short events, kernels::Deadline deadline) {
  pollfd entry{descriptor, events, 0};
  return wait_for_sockets({&entry, 1}, deadline);
}

bool wait_for_sockets(std::span<pollfd> polled, kernels::Deadline deadline) {
  for (;;) {
    const timespec left = remaining(deadline);
    const int ready = ppoll(polled.data(), polled.size(), &left, nullptr);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) throw_link_error("waiting for a socket", "poll failed", errno);
  }
}

int milliseconds_until(kernels::Deadline deadline) {
  using std::chrono::ceil, std::chrono::milliseconds;
  const auto left = ceil<milliseconds>(deadline.when() - kernels::Deadline::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kHour_ms));
}

void throw_link_error(const std::string& where, const std::string& what, int error_number) {
  std::string reason = error_number == 0 ? "" : " (" + std::generic_category().message(error_number) + ")";
  if (error_number == EMFILE || error_number == ENFILE)
    reason += "; " + kernels::more_open_files_advice() + ", before the launch";
  throw kernels::Error(kernels::Scope::link, where + ": " + what + reason);
}

}  // namespace tenax::comm
