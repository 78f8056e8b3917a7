// A network between ranks that are threads of one process, for testing what runs over connections: messages
// can be delayed, held, counted, and connections cut.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "comm/connection.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

/// What a test does to a message of `purpose` on its way from rank `from` to rank `to`, in the sending
/// thread.
using OnSend = std::function<void(int from, int to, const std::string& purpose, const MessageHeader& header)>;

/// One direction of a connection.
class LocalPipe {
 public:
  struct Message {
    MessageHeader header;
    std::vector<std::byte> payload;
  };

  void put(const MessageHeader& header, std::span<const std::byte> payload) {
    const std::lock_guard lock(mutex_);
    if (closed_) throw_broken();
    messages_.push_back({header, {payload.begin(), payload.end()}});
    changed_.notify_all();
  }
  std::optional<Message> take(kernels::Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline.when(), [this] { return closed_ || !messages_.empty(); }))
      return {};
    if (messages_.empty()) throw_broken();
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  [[noreturn]] static void throw_broken() {
    throw kernels::Error(kernels::Scope::link, "the connection was shut down");
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool closed_ = false;
};

class LocalConnection final : public Connection {
 public:
  LocalConnection(int me, int peer, std::string purpose, std::string address, std::shared_ptr<LocalPipe> out,
                  std::shared_ptr<LocalPipe> in, const OnSend& on_send)
      : me_(me),
        peer_(peer),
        purpose_(std::move(purpose)),
        address_(std::move(address)),
        out_(std::move(out)),
        in_(std::move(in)),
        on_send_(on_send) {}

  void send(const MessageHeader& header, std::span<const std::byte> payload, kernels::Deadline) override {
    if (on_send_) on_send_(me_, peer_, purpose_, header);
    out_->put(header, payload);
  }
  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    auto message = in_->take(deadline);
    if (!message) return {};
    payload_ = std::move(message->payload);
    return message->header;
  }
  void receive_payload(std::span<std::byte> payload, kernels::Deadline) override {
    std::copy(payload_.begin(), payload_.end(), payload.begin());
  }
  void shut_down() noexcept override {
    out_->close();
    in_->close();
  }
  const std::string& address() const override { return address_; }
  std::string describe() const override {
    return "local " + std::to_string(me_) + " - " + std::to_string(peer_);
  }

 private:
  int me_, peer_;
  std::string purpose_, address_;
  std::shared_ptr<LocalPipe> out_, in_;
  const OnSend& on_send_;
  std::vector<std::byte> payload_;
};

/// Outlives its transports and connections.
class LocalNetwork {
 public:
  explicit LocalNetwork(int ranks, OnSend on_send = {}) : on_send_(std::move(on_send)) {
    for (int rank = 0; rank < ranks; ++rank) {
      peers_.push_back({rank, "rank " + std::to_string(rank) + " (here)", {"local"}});
      transports_.push_back(create_transport(rank));
    }
  }
  const std::vector<Peer>& peers() const { return peers_; }
  Transport& transport(int rank) { return *transports_[static_cast<std::size_t>(rank)]; }
  std::unique_ptr<Transport> create_transport(int rank) {
    return std::make_unique<LocalTransport>(*this, rank);
  }

 private:
  class LocalTransport final : public Transport {
   public:
    LocalTransport(LocalNetwork& network, int rank) : network_(network), rank_(rank) {}
    std::vector<std::string> addresses() const override { return {"local"}; }
    std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                        const std::string& purpose, kernels::Deadline) override {
      return network_.connect(rank_, peer.rank, address, purpose);
    }
    std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                       kernels::Deadline deadline) override {
      return network_.accept(rank_, peer.rank, purpose, deadline);
    }

   private:
    LocalNetwork& network_;
    int rank_;
  };

  /// The other end waits for accept().
  std::unique_ptr<Connection> connect(int me, int peer, const std::string& address,
                                      const std::string& purpose) {
    const auto there = std::make_shared<LocalPipe>(), back = std::make_shared<LocalPipe>();
    {
      const std::lock_guard lock(mutex_);
      waiting_[{me, peer, purpose}].push_back(
          std::make_unique<LocalConnection>(peer, me, purpose, address, back, there, on_send_));
    }
    changed_.notify_all();
    return std::make_unique<LocalConnection>(me, peer, purpose, address, there, back, on_send_);
  }
  std::unique_ptr<Connection> accept(int me, int peer, const std::string& purpose,
                                     kernels::Deadline deadline) {
    std::unique_lock lock(mutex_);
    auto& queue = waiting_[{peer, me, purpose}];
    if (!changed_.wait_until(lock, deadline.when(), [&] { return !queue.empty(); }))
      throw kernels::Error(kernels::Scope::link,
                           "rank " + std::to_string(peer) + " did not connect for " + purpose);
    auto connection = std::move(queue.front());
    queue.pop_front();
    return connection;
  }

  OnSend on_send_;
  std::vector<Peer> peers_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// By the connecting rank, the other one and the purpose.
  std::map<std::tuple<int, int, std::string>, std::deque<std::unique_ptr<Connection>>> waiting_;
};

}  // namespace tenax::comm
