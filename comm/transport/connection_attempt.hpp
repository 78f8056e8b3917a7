// ConnectionAttempt: one connection in the making, which its owner may give up.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "comm/connection.hpp"

namespace tenax::comm {

/// What an address gets of the time before the next one is tried.
struct ConnectionSlices {
  double first_s = 0.1;  ///< doubled from round to round, up to a second
  /// An address of RDMA gets so much at least: the connection would keep the slower way that comes after it.
  double rdma_s = 0;
};

/// One thread; any may set `is_over`.
class ConnectionAttempt {
 public:
  /// Long enough for a handshake over RDMA to find out whether its path carries anything.
  static constexpr double kWholeHandshake_s = 1.5;

  /// References must outlive it.
  ConnectionAttempt(Transport& transport, const Peer& peer, std::string purpose,
                    const std::atomic<bool>& is_over, kernels::Deadline deadline,
                    ConnectionSlices slices = {})
      : transport_(transport),
        peer_(peer),
        purpose_(std::move(purpose)),
        is_over_(is_over),
        deadline_(deadline),
        slices_(slices) {}

  /// Tries all addresses of the peer, each with a time of its own. Where one used it up, all are tried
  /// again with more of it: the peer may be far away, or stopped. Else nobody listens there. Throws
  /// Error(link) then, and when the deadline comes or `is_over` is set: a second after that at most, or a longer slice.
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
  const ConnectionSlices slices_;
  std::string last_;  // why the last address failed
};

}  // namespace tenax::comm
