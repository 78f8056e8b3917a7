// Reconnector: makes one connection of a delegated link, and makes it again when it breaks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "comm/delegates/address_choice.hpp"
#include "comm/delegates/channel_observer.hpp"

namespace tenax::comm {

/// At the end that connects, the best address that works is taken. While the connection does not go
/// the best way, a thread tries better ones; once it has a better connection, the present one is shut
/// down, and next() gives the better one.
///
/// Thread rule: one thread calls next(), any thread the others. `parties` must outlive it.
class Reconnector {
 public:
  Reconnector(const LinkParties& parties, std::string purpose);
  ~Reconnector();
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;

  /// Closes the connection it made last, and makes one on the peer's best address that works now.
  /// Null once close() was called. Throws Error(link) naming the link, its ranks and hosts when no
  /// address answers within the deadline.
  std::shared_ptr<Connection> next();
  void close() noexcept;
  int made() const;  ///< connections so far

 private:
  std::shared_ptr<Connection> make(kernels::Deadline deadline);
  std::unique_ptr<Connection> connect(std::size_t address, kernels::Deadline deadline);
  std::shared_ptr<Connection> set_current(std::unique_ptr<Connection> connection, std::size_t address);
  std::shared_ptr<Connection> take_better();
  void close_current();
  void pause_until(kernels::Deadline when);
  bool is_closed() const;

  void improve();
  bool can_improve() const;
  std::optional<std::size_t> better_address() const;
  void try_better(std::unique_lock<std::mutex>& lock, std::size_t address);

  const LinkParties& parties_;
  const std::string purpose_;
  kernels::Deadline earliest_ = kernels::Deadline::after_s(0);  // when the next attempt may begin
  mutable std::mutex mutex_;                                    // guards all below
  std::condition_variable changed_;
  AddressChoice choice_;
  std::shared_ptr<Connection> current_;
  std::size_t address_ = 0;             // current_'s, at the end that connects
  std::unique_ptr<Connection> better_;  // than current_, which has been shut down for it
  std::size_t better_address_ = 0;
  double rests_until_s_ = 0;   // attempts for another way to address_
  bool is_trying_ = false;     // something better than current_
  bool is_improving_ = false;  // the thread goes on
  bool closed_ = false;
  int made_ = 0;
  std::thread improver_;  // next()'s
};

}  // namespace tenax::comm
