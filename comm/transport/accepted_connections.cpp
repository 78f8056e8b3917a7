#include "comm/transport/accepted_connections.hpp"

#include <atomic>

#include "comm/forwarding_connection.hpp"

namespace tenax::comm {

class AcceptedConnections::Held final : public ForwardingConnection {
 public:
  Held(std::shared_ptr<AcceptedConnections> all, Key key, std::unique_ptr<Connection> inner)
      : ForwardingConnection(std::move(inner)), all_(std::move(all)), key_(std::move(key)) {
    const std::lock_guard lock(all_->mutex_);
    all_->held_[key_] = this;
  }
  void replace() noexcept {
    is_replaced_ = true;
    shut_down();
  }
  bool has_lost_its_way() const override { return is_replaced_ || inner().has_lost_its_way(); }
  ~Held() override {
    const std::lock_guard lock(all_->mutex_);
    if (const auto found = all_->held_.find(key_); found != all_->held_.end() && found->second == this)
      all_->held_.erase(found);
  }

 private:
  const std::shared_ptr<AcceptedConnections> all_;
  const Key key_;
  std::atomic<bool> is_replaced_{false};
};

std::unique_ptr<Connection> AcceptedConnections::hold(const Key& key,
                                                      std::unique_ptr<Connection> connection) {
  return std::make_unique<Held>(shared_from_this(), key, std::move(connection));
}

void AcceptedConnections::end(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(key); found != held_.end()) found->second->replace();
}

}  // namespace tenax::comm
