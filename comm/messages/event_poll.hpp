// EventPoll: how one thread waits for any of thousands of sockets.
#pragma once

#include <array>
#include <span>

#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// A descriptor is ready as long as there is something to read, room to write (where that is asked
/// for) or an error, which the next call on it tells. A closed one is forgotten by itself.
///
/// Thread rule: one thread waits, any thread does the rest.
class EventPoll {
 public:
  /// Throws Error(link) where the kernel has no descriptor left for it.
  EventPoll();

  /// Throws Error(link) where the kernel has no memory for it.
  void watch(int descriptor);
  /// Of a descriptor that is watched: nothing, reading, or also writing.
  enum class Interest { none, reads, reads_and_writes };
  void set_interest(int descriptor, Interest interest);

  /// Those that are ready, some at a time; none when wake() was called or the deadline came first.
  /// Valid until the next call.
  std::span<const int> wait(kernels::Deadline deadline);
  /// Whether wake() had been called when the last wait() ended.
  bool was_woken() const { return was_woken_; }
  void wake() noexcept;

 private:
  static constexpr std::size_t kAtOnce = 64;

  FileDescriptor epoll_, woken_;  // woken_: an eventfd
  std::array<int, kAtOnce> ready_{};
  bool was_woken_ = false;
};

}  // namespace tenax::comm
