// ConnectionAttempt: one connection in the making, which its owner may give up.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "comm/connection.hpp"

namespace tenax::comm {

/// One thread; any may set `is_over`.
class ConnectionAttempt {
 public:
  /// Long enough for a handshake over RDMA to find out whether its path carries anything.
  static constexpr double kWholeHandshake_s = 1.5;

  /// References must outlive it. `handshake_s`: an address of RDMA gets so much time at least, before a slower way is
  /// taken, which the connection would keep.
  ConnectionAttempt(Transport& transport, const Peer& peer, std::string purpose,
                    const std::atomic<bool>& is_over, kernels::Deadline deadline, double handshake_s = 0)
      : transport_(transport),
        peer_(peer),
        purpose_(std::move(purpose)),
        is_over_(is_over),
        deadline_(deadline),
        handshake_s_(handshake_s) {}

  /// Tries all addresses of the peer, each with a time of its own. Where one used it up, all are tried
  /// again with more of it: the peer may be far away, or stopped. Else nobody listens there. Throws
  /// Error(link) then, and when the deadline comes or `is_over` is set: a second after that at most, or `handshake_s`.
  std::unique_ptr<Connection> connect();
  /// Throws Error(link) when the deadline comes or `is_over` is set: soon after.
  std::unique_ptr<Connection> accept();

 private:
  std::unique_ptr<Connection> connect_once(double attempt_s);
  double time_for(const std::string& address, double attempt_s) const;
  kernels::Deadline until(double seconds) const;
  void throw_if_over() const;

  Transport& transport_;
  const Peer& peer_;
  const std::string purpose_;
  const std::atomic<bool>& is_over_;
  const kernels::Deadline deadline_;
  const double handshake_s_;
};

}  // namespace tenax::comm
