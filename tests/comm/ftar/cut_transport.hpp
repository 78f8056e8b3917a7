// Transports whose connections are cut as a network cuts them: both ends see that the way is lost.
#pragma once

#include <map>
#include <mutex>
#include <random>
#include <set>
#include <tuple>

#include "comm/forwarding_connection.hpp"

namespace tenax::comm {

/// The open connections between some ranks of this process. Thread rule: any thread.
class Cuts {
 public:
  /// Who made it, who accepted it, what for.
  using Key = std::tuple<int, int, std::string>;

  /// Both ends of one of them.
  void cut_one(std::mt19937& random) {
    const std::lock_guard lock(mutex_);
    if (open_.empty()) return;
    auto victim = open_.begin();
    std::advance(victim, random() % open_.size());
    for (Cut* const end : victim->second) end->cut();
  }
  /// Connections that were made, the accepted ones not counted.
  int made() {
    const std::lock_guard lock(mutex_);
    return made_;
  }
  std::unique_ptr<Connection> add(Key key, std::unique_ptr<Connection> connection, bool is_made) {
    const std::lock_guard lock(mutex_);
    made_ += is_made ? 1 : 0;
    auto cut = std::make_unique<Cut>(*this, key, std::move(connection));
    open_[std::move(key)].insert(cut.get());
    return cut;
  }

 private:
  class Cut final : public ForwardingConnection {
   public:
    Cut(Cuts& all, Key key, std::unique_ptr<Connection> inner)
        : ForwardingConnection(std::move(inner)), all_(all), key_(std::move(key)) {}
    ~Cut() override {
      const std::lock_guard lock(all_.mutex_);
      const auto open = all_.open_.find(key_);
      open->second.erase(this);
      if (open->second.empty()) all_.open_.erase(open);
    }
    void cut() {
      is_cut_ = true;
      inner().shut_down();
    }
    bool has_lost_its_way() const override { return is_cut_ || inner().has_lost_its_way(); }

   private:
    Cuts& all_;
    const Key key_;
    std::atomic<bool> is_cut_{false};
  };

  std::mutex mutex_;
  std::map<Key, std::set<Cut*>> open_;
  int made_ = 0;
};

class CutTransport final : public Transport {
 public:
  CutTransport(std::unique_ptr<Transport> inner, int rank, Cuts& cuts)
      : inner_(std::move(inner)), rank_(rank), cuts_(cuts) {}

  std::vector<std::string> addresses() const override { return inner_->addresses(); }
  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override {
    return cuts_.add({rank_, peer.rank, purpose}, inner_->connect(peer, address, purpose, deadline), true);
  }
  std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                     kernels::Deadline deadline) override {
    return cuts_.add({peer.rank, rank_, purpose}, inner_->accept(peer, purpose, deadline), false);
  }

 private:
  const std::unique_ptr<Transport> inner_;
  const int rank_;
  Cuts& cuts_;
};

}  // namespace tenax::comm
