// Connections between ranks of one process, for tests of what wraps connections.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "comm/connection.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience::test {

using kernels::Deadline;

/// One direction of a connection.
class Pipe {
 public:
  struct Message {
    comm::MessageHeader header;
    std::vector<std::byte> payload;
  };
  void put(Message message) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) throw broken();
      messages_.push_back(std::move(message));
    }
    changed_.notify_all();
  }
  std::optional<Message> take(Deadline deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline.when(), [this] { return closed_ || !messages_.empty(); });
    if (closed_) throw broken();
    if (messages_.empty()) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  static kernels::Error broken() { return {kernels::Scope::link, "the connection is broken"}; }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool closed_ = false;
};

class MemoryConnection final : public comm::Connection {
 public:
  MemoryConnection(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in, std::string address)
      : out_(std::move(out)), in_(std::move(in)), address_(std::move(address)) {}
  void send(const comm::MessageHeader& header, std::span<const std::byte> payload, Deadline) override {
    out_->put({header, {payload.begin(), payload.end()}});
  }
  std::optional<comm::MessageHeader> receive(Deadline deadline) override {
    auto message = in_->take(deadline);
    if (!message) return std::nullopt;
    payload_ = std::move(message->payload);
    return message->header;
  }
  void receive_payload(std::span<std::byte> payload, Deadline) override {
    std::copy(payload_.begin(), payload_.end(), payload.begin());
  }
  void shut_down() noexcept override {
    out_->close();
    in_->close();
  }
  const std::string& address() const override { return address_; }
  std::string describe() const override { return "memory " + address_; }

 private:
  std::shared_ptr<Pipe> out_, in_;
  std::string address_;
  std::vector<std::byte> payload_;
};

/// Where the ranks meet.
class MemoryNetwork {
 public:
  std::unique_ptr<comm::Connection> connect(int from, int to, const std::string& address,
                                            const std::string& purpose) {
    auto there = std::make_shared<Pipe>(), back = std::make_shared<Pipe>();
    {
      const std::lock_guard lock(mutex_);
      waiting_[{from, to, purpose}].push_back(std::make_unique<MemoryConnection>(back, there, address));
    }
    changed_.notify_all();
    return std::make_unique<MemoryConnection>(there, back, address);
  }
  std::unique_ptr<comm::Connection> accept(int from, int to, const std::string& purpose, Deadline deadline) {
    std::unique_lock lock(mutex_);
    auto& queue = waiting_[{from, to, purpose}];
    if (!changed_.wait_until(lock, deadline.when(), [&] { return !queue.empty(); }))
      throw kernels::Error(kernels::Scope::link, "nobody connected");
    auto connection = std::move(queue.front());
    queue.pop_front();
    return connection;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::tuple<int, int, std::string>, std::deque<std::unique_ptr<comm::Connection>>> waiting_;
};

class MemoryTransport final : public comm::Transport {
 public:
  MemoryTransport(MemoryNetwork& network, int rank) : network_(network), rank_(rank) {}
  std::vector<std::string> addresses() const override { return {}; }
  std::unique_ptr<comm::Connection> connect(const comm::Peer& peer, const std::string& address,
                                            const std::string& purpose, Deadline) override {
    return network_.connect(rank_, peer.rank, address, purpose);
  }
  std::unique_ptr<comm::Connection> accept(const comm::Peer& peer, const std::string& purpose,
                                           Deadline deadline) override {
    return network_.accept(peer.rank, rank_, purpose, deadline);
  }

 private:
  MemoryNetwork& network_;
  int rank_;
};

}  // namespace tenax::resilience::test
