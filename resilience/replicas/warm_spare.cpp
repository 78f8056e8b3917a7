#include "resilience/replicas/warm_spare.hpp"

#include <utility>

#include "kernels/error.hpp"
#include "resilience/membership/message_text.hpp"

namespace tenax::resilience {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

WarmSpare::WarmSpare(Options options, LeaderHeartbeat& heartbeat)
    : options_(std::move(options)), heartbeat_(heartbeat) {
  constexpr double kConnect_s = 6;
  link_ = options_.connect({.secret = options_.secret,
                            .addresses = options_.service,
                            .purpose = "spare." + std::to_string(options_.spare),
                            .deadline = Deadline::after_s(kConnect_s)});
  link_->send(to_text(MemberMessage(SpareReady{options_.spare})));
}

std::optional<ReplicaId> WarmSpare::wait(Deadline deadline) {
  std::optional<ReplicaId> called;
  while (!called && !deadline.expired()) {
    beat();
    called = receive();
    if (const auto silent = heartbeat_.silent_rank(options_.dead_s))
      throw Error(Scope::replica, "rank " + std::to_string(silent->rank) + " of this warm spare is silent");
  }
  return called;
}

void WarmSpare::beat() {
  const double now_s = kernels::steady_now_s();
  if (now_s < beats_at_s_) return;
  beats_at_s_ = now_s + options_.heartbeat_s;
  link_->send(to_text(MemberMessage(Beat{})));
}

// What else the service says answers the beats.
std::optional<ReplicaId> WarmSpare::receive() {
  const auto text = link_->receive(Deadline::after_s(options_.heartbeat_s));
  if (!text) return {};
  const ServiceMessage message = parse_service_message(*text);
  if (const auto* refused = std::get_if<Refused>(&message))
    throw Error(Scope::replica, "the run has no use for this warm spare: " + refused->reason);
  const auto* place = std::get_if<TakePlace>(&message);
  return place ? std::optional(place->id) : std::nullopt;
}

}  // namespace tenax::resilience
