// Reconnector: makes one connection of a delegated link, and makes it again when it breaks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "comm/delegates/channel_observer.hpp"

namespace tenax::comm {

/// Thread rule: one thread calls next(), any thread the others. `parties` must outlive it.
class Reconnector {
 public:
  Reconnector(const LinkParties& parties, std::string purpose)
      : parties_(parties), purpose_(std::move(purpose)) {}

  /// Closes the connection it made last, and makes one on the peer's next address, trying all in
  /// turn. Null once close() was called. Throws Error(link) naming the link, its ranks and hosts
  /// when no address answers within the deadline.
  std::shared_ptr<Connection> next();
  void close() noexcept;
  int made() const;  ///< connections so far

 private:
  std::unique_ptr<Connection> attempt(kernels::Deadline deadline);
  std::shared_ptr<Connection> set_current(std::unique_ptr<Connection> connection);
  void close_current();
  void pause_until(kernels::Deadline when);
  bool is_closed() const;

  const LinkParties& parties_;
  const std::string purpose_;
  std::size_t address_ = 0;                                     // which is tried next
  kernels::Deadline earliest_ = kernels::Deadline::after_s(0);  // when the next attempt may begin
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Connection> current_;
  bool closed_ = false;
  int made_ = 0;
};

}  // namespace tenax::comm
