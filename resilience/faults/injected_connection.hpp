// InjectedConnection: a connection that is as slow, or as dead, as LinkFaults say.
// ConnectionRegistry: all of a rank's, so that those whose path goes down can be cut.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "comm/forwarding_connection.hpp"
#include "resilience/faults/link_faults.hpp"

namespace tenax::resilience {

class InjectedConnection;

/// Thread rule: any thread.
class ConnectionRegistry {
 public:
  void add(InjectedConnection& connection);
  void remove(InjectedConnection& connection);
  void cut_what_is_down();

 private:
  std::mutex mutex_;
  std::set<InjectedConnection*> connections_;
};

/// What a connection is for.
struct ConnectionUse {
  int rank = 0, peer = 0;  ///< world ranks of this end and the other
  bool direct = false;     ///< the pipeline's direct path
};

class InjectedConnection final : public comm::ForwardingConnection {
 public:
  /// `faults` and `registry` must outlive it.
  InjectedConnection(std::unique_ptr<comm::Connection> inner, ConnectionUse use, LinkFaults& faults,
                     ConnectionRegistry& registry);
  ~InjectedConnection() override;

  /// Holds the calling thread for the message's delay, then hands it on: one message at a time,
  /// whereas those of several connections overlap.
  void send(const comm::MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override;
  std::optional<comm::MessageHeader> receive(kernels::Deadline deadline) override;
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override;
  void check() const override {
    throw_if_cut();
    inner().check();
  }
  comm::PolledStream* stream() override { return nullptr; }
  void shut_down() noexcept override;
  std::string break_reason() const override { return is_cut() ? "no_answer" : inner().break_reason(); }

  /// Breaks the connection at both ends if its path is down now.
  void cut_if_down();
  bool is_cut() const;

 private:
  /// A path may go down at a time within a step.
  void check_path();
  void hold(LinkFaults::Clock::time_point release, kernels::Deadline deadline);
  void throw_if_cut() const;
  void count(LinkFaults::Passed how);

  const ConnectionUse use_;
  LinkFaults& faults_;
  ConnectionRegistry& registry_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool is_cut_ = false;  ///< by a fault
  bool is_shut_ = false;
};

}  // namespace tenax::resilience
