// Transports whose connections are cut as a network cuts them: both ends see that the way is lost.
#pragma once

#include <map>
#include <mutex>
#include <random>
#include <set>
#include <tuple>

#include "comm/forwarding_connection.hpp"
#include "comm/forwarding_transport.hpp"

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
    ++cuts_[victim->first];
    for (Cut* const end : victim->second) end->mark();
    for (Cut* const end : victim->second) end->cut();
  }
  /// Connections that were made, the accepted ones not counted.
  int made() {
    const std::lock_guard lock(mutex_);
    return made_;
  }
  /// So far.
  int of(const Key& key) {
    const std::lock_guard lock(mutex_);
    return cuts_[key];
  }
  /// One that was accepted.
  std::unique_ptr<Connection> add(const Key& key, std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    auto cut = std::make_unique<Cut>(*this, key, std::move(connection));
    open_[key].insert(cut.get());
    return cut;
  }
  /// One that was made when there had been so many cuts: the other end may have been cut since.
  std::unique_ptr<Connection> add_made(const Key& key, std::unique_ptr<Connection> connection,
                                       int cuts_before) {
    const std::lock_guard lock(mutex_);
    ++made_;
    auto cut = std::make_unique<Cut>(*this, key, std::move(connection));
    open_[key].insert(cut.get());
    if (cuts_[key] != cuts_before) cut->cut();
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
    /// Both ends, before either ends the other.
    void mark() { is_cut_ = true; }
    void cut() {
      mark();
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
  std::map<Key, int> cuts_;
  int made_ = 0;
};

class CutTransport final : public ForwardingTransport {
 public:
  CutTransport(std::unique_ptr<Transport> inner, int rank, Cuts& cuts)
      : ForwardingTransport(std::move(inner)), rank_(rank), cuts_(cuts) {}

  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override {
    const Cuts::Key key{rank_, peer.rank, purpose};
    const int before = cuts_.of(key);
    return cuts_.add_made(key, inner().connect(peer, address, purpose, deadline), before);
  }
  std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                     kernels::Deadline deadline) override {
    return cuts_.add({peer.rank, rank_, purpose}, inner().accept(peer, purpose, deadline));
  }

 private:
  const int rank_;
  Cuts& cuts_;
};

}  // namespace tenax::comm
