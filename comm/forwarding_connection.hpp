// ForwardingConnection: what wraps a connection does all as that one does, but for what it overrides.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/connection.hpp"

namespace tenax::comm {

class ForwardingConnection : public Connection {
 public:
  explicit ForwardingConnection(std::unique_ptr<Connection> inner) : inner_(std::move(inner)) {}

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override {
    inner_->send(header, payload, deadline);
  }
  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    return inner_->receive(deadline);
  }
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override {
    inner_->receive_payload(payload, deadline);
  }
  void offer(std::uint64_t least_bytes) override { inner_->offer(least_bytes); }
  std::uint64_t uncopied_bytes() const override { return inner_->uncopied_bytes(); }
  bool can_read(std::span<const std::byte> memory) const override { return inner_->can_read(memory); }
  void note_delivered(std::uint64_t messages) override { inner_->note_delivered(messages); }
  void check() const override { inner_->check(); }
  std::shared_ptr<SharedMemoryArea> area() override { return inner_->area(); }
  PolledStream* stream() override { return inner_->stream(); }
  void shut_down() noexcept override { inner_->shut_down(); }
  const std::string& address() const override { return inner_->address(); }
  std::string describe() const override { return inner_->describe(); }
  std::string way() const override { return inner_->way(); }
  std::string break_reason() const override { return inner_->break_reason(); }
  bool has_lost_its_way() const override { return inner_->has_lost_its_way(); }
  BetterWay better_way() const override { return inner_->better_way(); }
  void demand_better() override { inner_->demand_better(); }

 protected:
  Connection& inner() { return *inner_; }
  const Connection& inner() const { return *inner_; }

 private:
  const std::unique_ptr<Connection> inner_;
};

}  // namespace tenax::comm
