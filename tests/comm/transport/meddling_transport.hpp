// A transport between tests and the network that can break connections and hold messages.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <set>

#include "comm/forwarding_connection.hpp"
#include "comm/forwarding_transport.hpp"

namespace tenax::comm {

class MeddlingTransport final : public ForwardingTransport {
 public:
  explicit MeddlingTransport(std::unique_ptr<Transport> inner) : ForwardingTransport(std::move(inner)) {}

  /// Called in the sending thread before each message.
  void on_send(std::function<void(const MessageHeader&)> hook) { on_send_ = std::move(hook); }
  /// Shuts down a random one of the connections that are open. False if there is none.
  bool break_one(std::mt19937& random) {
    const std::lock_guard lock(mutex_);
    if (open_.empty()) return false;
    auto victim = open_.begin();
    std::advance(victim, random() % open_.size());
    (*victim)->shut_down();
    return true;
  }
  std::set<std::string> addresses_used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

  /// Made or accepted so far.
  int connections() const {
    const std::lock_guard lock(mutex_);
    return connections_;
  }

 private:
  class Meddled final : public ForwardingConnection {
   public:
    Meddled(MeddlingTransport& owner, std::unique_ptr<Connection> inner)
        : ForwardingConnection(std::move(inner)), owner_(owner) {}
    ~Meddled() override {
      const std::lock_guard lock(owner_.mutex_);
      owner_.open_.erase(&inner());
    }
    void send(const MessageHeader& header, std::span<const std::byte> payload,
              kernels::Deadline deadline) override {
      if (owner_.on_send_) owner_.on_send_(header);
      inner().send(header, payload, deadline);
    }

   private:
    MeddlingTransport& owner_;
  };

  std::unique_ptr<Connection> wrap(std::unique_ptr<Connection> connection, const Peer&,
                                   const std::string&) override {
    const std::lock_guard lock(mutex_);
    ++connections_;
    open_.insert(connection.get());
    used_.insert(connection->address());
    return std::make_unique<Meddled>(*this, std::move(connection));
  }

  std::function<void(const MessageHeader&)> on_send_;
  mutable std::mutex mutex_;
  std::set<Connection*> open_;
  std::set<std::string> used_;
  int connections_ = 0;
};

/// Holds whoever comes through until it is opened, and counts them.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return is_open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  /// Whether so many came.
  bool wait_for(int count, double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return inside_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool is_open_ = false;
};

}  // namespace tenax::comm
