#include "comm/transport/accepted_connections.hpp"

namespace tenax::comm {

class AcceptedConnections::Held final : public Connection {
 public:
  Held(std::shared_ptr<AcceptedConnections> all, Key key, std::unique_ptr<Connection> inner)
      : all_(std::move(all)), key_(std::move(key)), inner_(std::move(inner)) {
    const std::lock_guard lock(all_->mutex_);
    all_->held_[key_] = this;
  }
  ~Held() override {
    const std::lock_guard lock(all_->mutex_);
    if (const auto found = all_->held_.find(key_); found != all_->held_.end() && found->second == this)
      all_->held_.erase(found);
  }

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
  void check() const override { inner_->check(); }
  std::shared_ptr<SharedMemoryArea> area() override { return inner_->area(); }
  PolledStream* stream() override { return inner_->stream(); }
  void shut_down() noexcept override { inner_->shut_down(); }
  const std::string& address() const override { return inner_->address(); }
  std::string describe() const override { return inner_->describe(); }
  std::string way() const override { return inner_->way(); }
  std::string break_reason() const override { return inner_->break_reason(); }
  BetterWay better_way() const override { return inner_->better_way(); }
  void demand_better() override { inner_->demand_better(); }

 private:
  const std::shared_ptr<AcceptedConnections> all_;
  const Key key_;
  const std::unique_ptr<Connection> inner_;
};

std::unique_ptr<Connection> AcceptedConnections::hold(const Key& key,
                                                      std::unique_ptr<Connection> connection) {
  return std::make_unique<Held>(shared_from_this(), key, std::move(connection));
}

void AcceptedConnections::end(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(key); found != held_.end()) found->second->shut_down();
}

}  // namespace tenax::comm
