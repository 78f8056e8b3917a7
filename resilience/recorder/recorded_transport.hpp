// RecordedTransport: another transport, whose connections' messages are counted.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/forwarding_transport.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// A direction of a connection is a channel: of messages, or of bytes where it is used as a stream (pieces of the
/// exchange between replicas). Both ends count the same.
class RecordedTransport final : public comm::ForwardingTransport {
 public:
  /// `recorder` must outlive it and its connections.
  RecordedTransport(std::unique_ptr<comm::Transport> inner, Recorder& recorder)
      : ForwardingTransport(std::move(inner)), recorder_(recorder) {}

 private:
  std::unique_ptr<comm::Connection> wrap(std::unique_ptr<comm::Connection> connection, const comm::Peer& peer,
                                         const std::string& purpose) override;
  int add_direction(const std::string& purpose, const comm::Peer& peer, bool is_outgoing) const;

  Recorder& recorder_;
};

}  // namespace tenax::resilience
