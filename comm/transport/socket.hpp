// What every socket of the transports needs: an owner, waits with a deadline, errors in words.
#pragma once

#include <span>
#include <string>

#include "kernels/deadline.hpp"

struct pollfd;

namespace tenax::comm {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  int get() const { return descriptor_; }
  int release();
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Blocks until poll() reports one of `events` (or an error, for the next call on the socket to
/// say); false if the deadline came first.
bool wait_for_socket(int descriptor, short events, kernels::Deadline deadline);

/// The same for several at once, each with its own events.
bool wait_for_sockets(std::span<pollfd> polled, kernels::Deadline deadline);

/// A timeout for poll(): rounded up, and no more than an hour.
int milliseconds_until(kernels::Deadline deadline);

/// Error(link): "<where>: <what> (<text of the error number>)". Say what to do in `what`.
[[noreturn]] void throw_link_error(const std::string& where, const std::string& what, int error_number = 0);

}  // namespace tenax::comm
