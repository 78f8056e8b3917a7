// RecordedTransport: another transport, whose connections' messages are counted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/connection.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// A direction of a connection is a channel: of messages, or of bytes where it is used as a stream (pieces of the
/// exchange between replicas). Both ends count the same.
class RecordedTransport final : public comm::Transport {
 public:
  /// `recorder` must outlive it and its connections.
  RecordedTransport(std::unique_ptr<comm::Transport> inner, Recorder& recorder)
      : inner_(std::move(inner)), recorder_(recorder) {}

  std::vector<std::string> addresses() const override { return inner_->addresses(); }
  std::unique_ptr<comm::Connection> connect(const comm::Peer& peer, const std::string& address,
                                            const std::string& purpose, kernels::Deadline deadline) override;
  std::unique_ptr<comm::Connection> accept(const comm::Peer& peer, const std::string& purpose,
                                           kernels::Deadline deadline) override;
  std::unique_ptr<comm::MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    return inner_->register_memory(memory);
  }

 private:
  std::unique_ptr<comm::Connection> wrap(std::unique_ptr<comm::Connection> connection, const comm::Peer& peer,
                                         const std::string& purpose) const;
  int add_direction(const std::string& purpose, const comm::Peer& peer, bool is_outgoing) const;

  const std::unique_ptr<comm::Transport> inner_;
  Recorder& recorder_;
};

}  // namespace tenax::resilience
