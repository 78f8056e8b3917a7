// ReplicaLeader: a replica's link to the membership service, on its rank 0.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/messages/message_client.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"
#include "resilience/replicas/step_order.hpp"

namespace tenax::resilience {

/// A thread of its own talks to the service, from construction to destruction, and connects again
/// where the link breaks, or where the service is silent and elsewhere by now: it may have been
/// started anew, at another address. A replica of
/// which a rank is silent leaves the service, and all its exchanges end. One that never finds the
/// service ends within seconds.
///
/// Thread rule: the thread that trains.
class ReplicaLeader {
 public:
  struct Options {
    MembershipMember::Options member;
    comm::JobSecret secret;
    std::function<std::vector<std::string>()> find_service;  ///< its addresses, as far as they are known now
    comm::MessageConnector connect;                          ///< to it
    double dead_s = 1;
    std::vector<std::string> hosts = {};  ///< of each rank
    /// As RankHeartbeat has it: once a rank is lost.
    std::function<void()> when_hopeless = [] {};
  };
  /// `heartbeat` must outlive it.
  ReplicaLeader(Options options, LeaderHeartbeat& heartbeat);
  ~ReplicaLeader();
  ReplicaLeader(const ReplicaLeader&) = delete;
  ReplicaLeader& operator=(const ReplicaLeader&) = delete;

  /// What to do next; MemberPlan::Action::wait only if the deadline comes first. A step to train
  /// has begun then.
  StepOrder begin_next(kernels::Deadline deadline);

  // As MembershipMember has them.
  bool begin_vote();
  bool is_whole() const;
  void on_fetched(std::int64_t step);
  bool on_vote(const StepOutcome& outcome);
  void on_restored(std::int64_t done, std::int64_t next_sample);
  void on_saved(const Saved& saved);
  void on_validated(const Validated& validated);
  void on_observed(const Observed& observed);
  void ask_stop();
  bool run_stops() const;
  /// Commits that the service may not have stored.
  std::vector<CommitRecord> unrecorded() const;
  /// This replica was behind, and is not any more.
  void on_joined(const Joined& joined);

 private:
  void run();
  void connect();
  void listen();
  void leave_silent_service(double& heard_s) const;
  void disconnect();
  void wait_hopeless();
  void flush();
  void tell(const MemberMessage& message);
  /// Lets the member work, then does what it wants done.
  template <class Work>
  auto with_member(Work work);

  Options options_;
  LeaderHeartbeat& heartbeat_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  MembershipMember member_;
  std::shared_ptr<comm::MessageLink> link_;  // null while there is none
  bool stopping_ = false, has_left_ = false, has_connected_ = false;
  std::vector<std::string> service_;  // the link's addresses; the thread's
  std::string end_;                   // why it is out of the run; empty: it is not
  kernels::Deadline first_link_;
  std::thread thread_;
};

}  // namespace tenax::resilience
