// SimulatedRun: a run of replicas in virtual time, with the real controllers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "app/simulation/simulated_members.hpp"
#include "app/simulation/simulated_places.hpp"
#include "resilience/effective_time/effective_time.hpp"
#include "resilience/membership/membership_service.hpp"

namespace tenax::app {

struct SimulationResult {
  resilience::TimeByCause time;
  std::vector<resilience::TimeSpan> spans = {};  ///< of the whole run
  /// When a replica was no member of the epoch in force.
  struct Absence {
    int replica = 0;
    double begin_s = 0, end_s = 0;
  };
  std::vector<Absence> absences = {};
  std::int64_t failures = 0, losses = 0, epochs = 0;
  std::int64_t steps = 0, samples = 0;  ///< that count
  int given_up = 0;
};

/// Membership service, members, restart policy and the account of time are those of `tenax launch`; hosts, processes, links
/// and passes are played. Messages arrive at once, but for members' answers to a change of the epoch: what a change takes
/// (`reconfigure_s`) lies in them. A replica on a host that fails is silent from then on, or its link closes. Used once, by
/// one thread.
class SimulatedRun {
 public:
  /// The same options and seed give the same run.
  SimulatedRun(const SimulationOptions& options, std::uint64_t seed);
  SimulationResult play();

 private:
  using Event = TimedEvent<SimulatedEvent>;
  using Answer = std::pair<resilience::PeerId, resilience::MemberMessage>;

  void happen(const Event& event);
  void start(const Event& event);
  void fail(int place);
  void hear_all();
  void plan_beat();
  void plan_failure();
  void plan_slow(int replica);
  void change_speed(const Event& event);
  void lose(int replica);
  void pump();
  void drain();
  void take(const resilience::Record& record);
  void take(const resilience::ServiceEvent& event);
  void note_members(const resilience::Epoch& epoch);
  SimulationResult conclude();

  const SimulationOptions options_;
  double now_s_ = 0;
  RandomTimes random_, slow_random_;
  SimulatedQueue queue_;
  SimulatedPlaces places_;
  SimulatedMembers members_;
  std::vector<double> speed_of_episode_;  // that a replica keeps in it, as a share
  std::int64_t unsynced_ = 0;             // records
  bool beats_ = false;                    // the next beat is planned
  std::vector<double> absent_since_s_;    // by replica; < 0: it is a member
  std::vector<Answer> answers_;           // to changes, under way or there
  std::vector<int> lost_;                 // to be placed elsewhere, once the service has been heard
  resilience::MembershipService service_;
  resilience::EffectiveTime account_;
  SimulationResult result_;
};

}  // namespace tenax::app
