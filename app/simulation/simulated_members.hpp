// SimulatedMembers: the replicas of a simulated run: their processes, links and steps.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "app/simulation/simulated_event.hpp"
#include "app/simulation/simulated_replica.hpp"
#include "app/simulation/simulation_options.hpp"

namespace tenax::app {

/// Each has the member of the membership protocol that a replica's leader has; passes and exchanges take their time and
/// compute nothing. Used by one thread.
class SimulatedMembers {
 public:
  /// Both outlive it.
  SimulatedMembers(const SimulationOptions& options, SimulatedQueue& queue);

  /// A new incarnation checks in. Returns who it is.
  resilience::ReplicaId start(int replica, double now_s);
  /// From now on it says nothing, and nothing of it comes.
  void fall_silent(int replica, double now_s);
  /// Its processes are gone.
  void end(int replica);
  /// The service has sent it something. Only what is said to the link that it has counts.
  void on_message(resilience::PeerId peer, const resilience::ServiceMessage& message, double now_s);
  /// Every one that runs gives a sign of life.
  void beat();
  /// passes_end, step_ready, fetched.
  void happen(const TimedEvent<SimulatedEvent>& event);
  /// Its passes take 1 / `factor` of the time from its next ones on.
  void change_speed(int replica, double factor) { at(replica).speed *= factor; }
  /// The run has this checkpoint.
  void on_checkpoint(std::int64_t done);

  const SimulatedReplica& replica(int number) const { return replicas_[static_cast<std::size_t>(number)]; }
  bool has_silent() const;
  resilience::PeerId peer_of(int replica) const { return this->replica(replica).peer(options_.replicas); }
  /// What they say to the service, by link; to be taken from the front.
  std::deque<std::pair<resilience::PeerId, resilience::MemberMessage>>& outbox() { return outbox_; }

 private:
  using Phase = SimulatedReplica::Phase;
  using Life = SimulatedReplica::Life;
  struct Checkpoint {
    std::int64_t done = 0, next_sample = 0;
  };

  SimulatedReplica& at(int replica) { return replicas_[static_cast<std::size_t>(replica)]; }
  void act(SimulatedReplica& replica, double now_s);
  void begin_step(SimulatedReplica& replica, double now_s);
  double passes_s(const SimulatedReplica& replica) const;
  double extra_s(SimulatedReplica& replica, double now_s);
  double saves(const SimulatedReplica& replica, double now_s) const;
  std::int64_t times_due(std::int64_t every, std::int64_t done) const;
  void tell_saved(SimulatedReplica& replica, double seconds);
  void end_passes(SimulatedReplica& replica, double now_s);
  void try_exchange(SimulatedReplica& replica, double now_s);
  void cut_passes(SimulatedReplica& replica, double now_s);
  void complete_step(const std::vector<SimulatedReplica*>& members, double all_there_s, double now_s);
  void stop(SimulatedReplica& replica);
  void collect(SimulatedReplica& replica);
  double played_step_s() const { return options_.costs.step_s * options_.costs.steps_at_once; }
  void plan(SimulatedEvent kind, const SimulatedReplica& replica, double time_s);

  const SimulationOptions& options_;
  SimulatedQueue& queue_;
  std::vector<SimulatedReplica> replicas_;
  std::deque<std::pair<resilience::PeerId, resilience::MemberMessage>> outbox_;
  Checkpoint checkpoint_, written_;  // the run's; the newest that was written
  double written_s_ = 0;
};

}  // namespace tenax::app
