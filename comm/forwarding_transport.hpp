// ForwardingTransport: what wraps a transport does all as that one does, but for what it overrides.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/connection.hpp"

namespace tenax::comm {

class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  std::vector<std::string> addresses() const override { return inner_->addresses(); }
  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override {
    return wrap(inner_->connect(peer, address, purpose, deadline), peer, purpose);
  }
  std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                     kernels::Deadline deadline) override {
    return wrap(inner_->accept(peer, purpose, deadline), peer, purpose);
  }
  std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    return inner_->register_memory(memory);
  }
  std::unique_ptr<MemoryRegistration> register_device_memory(std::span<std::byte> memory,
                                                             int dma_buf) override {
    return inner_->register_device_memory(memory, dma_buf);
  }

 protected:
  Transport& inner() { return *inner_; }

 private:
  /// What the caller gets for a connection to `peer`, made or accepted.
  virtual std::unique_ptr<Connection> wrap(std::unique_ptr<Connection> connection, const Peer& peer,
                                           const std::string& purpose) {
    static_cast<void>(peer);
    static_cast<void>(purpose);
    return connection;
  }

  const std::unique_ptr<Transport> inner_;
};

}  // namespace tenax::comm
