#include "comm/delegates/watched_transport.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "comm/delegates/channel_observer.hpp"
#include "comm/forwarding_connection.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

using kernels::steady_now_s;

namespace {

bool is_data(const MessageHeader& header) {
  return header.kind == static_cast<std::int32_t>(MessageKind::data);
}

}  // namespace

/// The connections for one purpose, one after the other. Those before the newest have nothing to say.
class WatchedTransport::Route {
 public:
  Route(int peer, OnReroute on_reroute) : peer_(peer), on_reroute_(std::move(on_reroute)) {}

  bool is_open() {
    const std::lock_guard lock(mutex_);
    return state_ == State::open;
  }
  /// A new connection; returns its number. `replaces`: it was made while the one before was whole, which
  /// the other end may have ended since.
  int begin(const std::string& way, bool replaces) {
    const std::lock_guard lock(mutex_);
    if (replaces) {
      reason_ = "healed";
      ended_s_ = steady_now_s();
    }
    if (state_ != State::closed) turn_to(way);
    way_ = way;
    state_ = State::open;
    if (arrived_s_ == 0) arrived_s_ = steady_now_s();
    return ++newest_;
  }
  void end(int number, bool is_broken, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (number != newest_ || state_ != State::open) return;
    state_ = is_broken ? State::broken : State::closed;
    ended_s_ = steady_now_s();
    reason_ = reason.empty() ? "peer_gone" : reason;
  }
  void count(const MessageHeader& header) {
    if (!is_data(header)) return;
    const std::lock_guard lock(mutex_);
    if (pending_ && header.sequence < sent_) ++pending_->resent;
    sent_ = std::max(sent_, header.sequence + 1);
  }
  /// Something that the other end sends.
  void arrive(int number) {
    std::optional<Reroute> complete;
    {
      const std::lock_guard lock(mutex_);
      if (number != newest_) return;
      note_arrival();
      complete.swap(pending_);
    }
    if (complete) on_reroute_(*complete);
  }
  /// So many messages that this end has sent.
  void deliver(int number, std::uint64_t messages) {
    std::optional<Reroute> complete;
    {
      const std::lock_guard lock(mutex_);
      if (number != newest_) return;
      const bool has_all = messages >= sent_before_;
      if (messages > delivered_ || (pending_ && has_all)) note_arrival();
      delivered_ = std::max(delivered_, messages);
      if (has_all) complete.swap(pending_);
    }
    if (complete) on_reroute_(*complete);
  }

 private:
  enum class State { closed, open, broken };

  /// Several ways may fail before anything arrives: the first and the last are told.
  void turn_to(const std::string& way) {
    sent_before_ = sent_;
    if (way == way_) return;
    if (!pending_) {
      pending_ = Reroute{.peer = peer_, .from = way_, .to = {}, .reason = reason_};
      is_silent_ = true;
      // Where all that was sent had arrived, that nothing came before was no fault.
      if (sent_ > 0 && delivered_ >= sent_) arrived_s_ = ended_s_;
    }
    pending_->to = way;
    if (pending_->from == way) pending_.reset();
  }

  void note_arrival() {
    const double now_s = steady_now_s();
    if (pending_ && is_silent_) pending_->seconds = now_s - arrived_s_;
    is_silent_ = false;
    arrived_s_ = now_s;
  }

  const int peer_;
  const OnReroute on_reroute_;
  std::mutex mutex_;
  int newest_ = 0;
  State state_ = State::closed;
  std::string way_, reason_;
  double arrived_s_ = 0, ended_s_ = 0;
  std::uint64_t sent_ = 0, delivered_ = 0;
  std::uint64_t sent_before_ = 0;  // of sent_, over connections before the newest
  bool is_silent_ = false;         // since pending_ began
  std::optional<Reroute> pending_;
};

class WatchedTransport::Watched final : public ForwardingConnection {
 public:
  Watched(std::shared_ptr<Route> route, std::unique_ptr<Connection> inner, bool replaces)
      : ForwardingConnection(std::move(inner)),
        route_(std::move(route)),
        number_(route_->begin(way(), replaces)) {}
  ~Watched() override { end(false); }

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override {
    route_->count(header);
    noting_end([&] { inner().send(header, payload, deadline); });
  }
  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    const auto header = noting_end([&] { return inner().receive(deadline); });
    if (header && is_data(*header)) route_->arrive(number_);
    return header;
  }
  void check() const override {
    noting_end([&] { inner().check(); });
  }
  void note_delivered(std::uint64_t messages) override { route_->deliver(number_, messages); }
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override {
    noting_end([&] { inner().receive_payload(payload, deadline); });
  }
  void shut_down() noexcept override {
    end(false);
    inner().shut_down();
  }

 private:
  template <class Work>
  std::invoke_result_t<Work> noting_end(Work work) const {
    try {
      return work();
    } catch (const kernels::Error&) {
      end(true);
      throw;
    }
  }
  void end(bool is_broken) const noexcept {
    const std::string known = break_reason();
    route_->end(number_, is_broken, known.empty() && has_lost_its_way() ? "no_answer" : known);
  }

  const std::shared_ptr<Route> route_;
  const int number_;
};

std::unique_ptr<Connection> WatchedTransport::connect(const Peer& peer, const std::string& address,
                                                      const std::string& purpose,
                                                      kernels::Deadline deadline) {
  if (peer.replica >= 0) return inner().connect(peer, address, purpose, deadline);
  const std::shared_ptr<Route> route = route_to(peer.rank, purpose);
  const bool replaces = route->is_open();
  return std::make_unique<Watched>(route, inner().connect(peer, address, purpose, deadline), replaces);
}

std::shared_ptr<WatchedTransport::Route> WatchedTransport::route_to(int peer, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Route>& route = routes_[{peer, purpose}];
  if (!route) route = std::make_shared<Route>(peer, on_reroute_);
  return route;
}

}  // namespace tenax::comm
