// Transports with two ways to each peer, of which the first one may become silent: nothing arrives, and nobody is told.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/forwarding_connection.hpp"
#include "comm/forwarding_transport.hpp"
#include "comm/polled_stream.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

/// What is made by the first way, as a stream.
class SilencedConnection final : public ForwardingConnection, public PolledStream {
 public:
  SilencedConnection(std::unique_ptr<Connection> inner, const std::atomic<bool>& is_silent)
      : ForwardingConnection(std::move(inner)),
        stream_(*ForwardingConnection::stream()),
        is_silent_(is_silent) {}

  PolledStream* stream() override { return this; }
  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) override {
    return is_silent_ ? head.size() + tail.size() : stream_.write_some(head, tail);
  }
  std::size_t read_some(std::span<std::byte> bytes) override {
    return is_silent_ ? 0 : stream_.read_some(bytes);
  }
  int socket() const override { return stream_.socket(); }
  bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) override {
    return is_silent_ || stream_.prepare_to_sleep(wants_room, polled);
  }

 private:
  PolledStream& stream_;
  const std::atomic<bool>& is_silent_;
};

class SilentWayTransport final : public ForwardingTransport {
 public:
  /// `is_silent` must outlive its connections; `others` counts those made by the second way.
  SilentWayTransport(std::unique_ptr<Transport> inner, const std::atomic<bool>& is_silent,
                     std::atomic<int>& others)
      : ForwardingTransport(std::move(inner)), is_silent_(is_silent), others_(others) {}

  std::vector<std::string> addresses() const override {
    const std::string only = ForwardingTransport::addresses().front();
    return {only, kOther + only};
  }
  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override {
    const Peer known{peer.rank, peer.name, {peer.addresses.front()}};
    if (address.starts_with(kOther)) {
      ++others_;
      return inner().connect(known, address.substr(kOther.size()), purpose, deadline);
    }
    while (is_silent_ && !deadline.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_silent_) throw kernels::Error(kernels::Scope::link, address + ": nobody answers there");
    return std::make_unique<SilencedConnection>(inner().connect(known, address, purpose, deadline),
                                                is_silent_);
  }

 private:
  inline static const std::string kOther = "other:";

  const std::atomic<bool>& is_silent_;
  std::atomic<int>& others_;
};

}  // namespace tenax::comm
