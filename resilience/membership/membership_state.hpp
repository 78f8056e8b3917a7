// MembershipState: what the membership service knows: the replicas that are there, the epoch in
// force, the steps that count. And what it wants said and stored of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "resilience/membership/committed_steps.hpp"
#include "resilience/membership/seats.hpp"
#include "resilience/membership/service_output.hpp"
#include "resilience/membership/state_vote.hpp"
#include "resilience/membership/suspicions.hpp"

namespace tenax::resilience {

struct MembershipOptions {
  int replicas = 1;
  int min_replicas = 1;     ///< fewer alive: training waits
  std::string build, deck;  ///< of all replicas
  SampleRules samples;
  std::int64_t train_steps = 0;  ///< the run ends after so many
  double dead_s = 1;             ///< silence after which a replica is lost
  /// So long a failed exchange between living replicas may still be the echo of another's death.
  double suspect_s = 0.3;
  /// A service that starts again waits so long for the members of the last epoch, once all can find it.
  double recovery_s = 5;
  std::int64_t digest_steps = 0;        ///< StateVote
  double unix_time_of_zero = 0;         ///< UNIX seconds at `now` = 0
  std::vector<std::string> zones = {};  ///< of each replica; none: all are near each other
};

class MembershipState {
 public:
  /// `records`: all that was ever stored. Throws kernels::Error(job) if they contradict themselves.
  MembershipState(MembershipOptions options, const std::vector<Record>& records);

  const MembershipOptions& options() const { return options_; }
  /// From the next epoch on.
  void set_zone(int replica, const std::string& zone) {
    if (!options_.zones.empty()) options_.zones.at(static_cast<std::size_t>(replica)) = zone;
  }
  Seats& seats() { return seats_; }
  const Seats& seats() const { return seats_; }
  const CommittedSteps& steps() const { return steps_; }
  Suspicions& suspicions() { return suspicions_; }

  // The epoch in force.
  std::int64_t epoch() const { return steps_.epoch() ? steps_.epoch()->epoch : 0; }
  int writer() const { return writer_; }
  /// A member says that it is: records do not tell a service that starts again.
  void recall_writer(int replica) { writer_ = replica; }
  /// In ring order, lost ones too.
  const std::vector<ReplicaId>& members() const { return members_; }
  bool is_member(ReplicaId id) const;
  /// The members that are there, in ring order.
  std::vector<Seat*> survivors();
  /// Some member is not there, or cannot go on: there must be another epoch.
  bool is_broken();
  /// Begins `epoch`, whose members all have seats.
  void begin(const Epoch& epoch, double now, double reconfigure_s);
  /// Nobody holds the state any more: the epoch has no members.
  void dissolve();

  /// Records a member's commit, unless it is known. A replica whose record is wrong, or whose Σg²
  /// or state differs, is lost.
  void commit(ReplicaId sender, const CommitRecord& commit, double now);
  /// Checkpoints may be wrong that are not yet set aside: nobody may restore one.
  bool doubts_checkpoints() const { return doubted_ > 0; }
  void on_checkpoints_settled() { --doubted_; }
  /// The accused member is lost, if it is there.
  void convict(const Accusation& accusation, double now);
  /// Records that steps ≥ `done` are void, if any are committed.
  void void_from(std::int64_t done, double now);

  /// `rank`: which one of it was missed first; −1: unknown.
  void lose(ReplicaId id, LossReason reason, double now, int rank = -1);
  void lose(const ReplicaLost& lost, double now);
  /// When the first member that is lost was heard of last; `now` where none is.
  double broken_since(double now) const { return broken_since_s_.value_or(now); }
  /// A replica that is no member does not belong to the run.
  void turn_away(ReplicaId id, const std::string& reason);
  /// Lets those go that wished to leave and are no members any more.
  void dismiss_leavers();
  void broadcast(std::vector<PeerId> to, ServiceMessage message);
  void send(const Seat& seat, ServiceMessage message) { broadcast({seat.peer}, std::move(message)); }
  /// The links of all that have checked in.
  std::vector<PeerId> all_peers() const;
  void refuse(PeerId peer, const std::string& reason);
  /// What is recorded so far is to be stored for good before any message goes out.
  void sync() { output_.sync = true; }
  void tell(const ServiceEvent& event);
  ServiceOutput take();

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(steps_, seats_, members_, writer_, doubted_, vote_, suspicions_);
  }

 private:
  void recall_votes(const std::vector<Record>& records);
  std::vector<PeerId> enroll(const Epoch& epoch);
  std::string host_of(ReplicaId id) const;
  void convict(const Dissent& dissent, double now);
  void evict(const Seat& seat, const std::string& reason);
  void record(const Record& record);
  double unix_time(double now) const { return options_.unix_time_of_zero + now; }

  MembershipOptions options_;
  CommittedSteps steps_;
  Seats seats_;
  std::vector<ReplicaId> members_;
  int writer_ = -1;
  std::optional<double> broken_since_s_;
  int doubted_ = 0;  // times that checkpoints were, and are not settled
  StateVote vote_;
  Suspicions suspicions_;
  ServiceOutput output_;
};

}  // namespace tenax::resilience
