// EffectiveTime: which part of a run of replicas was useful, and to what the rest was lost.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "resilience/effective_time/interval_cut.hpp"
#include "resilience/effective_time/step_interval.hpp"
#include "resilience/effective_time/time_by_cause.hpp"
#include "resilience/effective_time/usual_step.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::resilience {

/// It is given what the membership service puts out, in any order within a moment, each commit once or more, and divides the
/// time between committed steps (interval_cut.hpp). A step counts for as many seconds as all replicas
/// would take, undisturbed, for its samples: with some of them away a step is shorter of samples
/// (`shrink`) or takes longer (`keep`), and the difference is `absent`. The time of steps that are void
/// in the end is `repeat`. Times are seconds of the records' clock, and may be virtual.
///
/// Pure; grows by some 150 bytes a step. One thread.
class EffectiveTime {
 public:
  struct Options {
    double begin_s = 0;  ///< of the launch
    int replicas = 1;
    std::int64_t global_batch = 1;
    double usual_s = 0;  ///< a step of all replicas, as long as no undisturbed one has told; 0: unknown
  };
  explicit EffectiveTime(const Options& options);

  void take(const Record& record);
  /// `time_s`: when it was told.
  void take(const ServiceEvent& event, double time_s);

  /// Without gap or overlap from the launch to `end_s`, that of the run or now. Where the run's last
  /// checkpoint has not been told, the step under way has no time of its own yet.
  std::vector<TimeSpan> spans(double end_s) const;
  TimeByCause until(double end_s) const { return TimeByCause(spans(end_s)); }
  /// Of the time from the commit before the last step with that number to its own; nothing of a step that has none.
  TimeByCause of_step(std::int64_t step) const;
  double begin_s() const { return options_.begin_s; }
  /// Of what was taken last; the launch's at first.
  double last_s() const { return last_s_; }

 private:
  void add(const CommitRecord& commit);
  void add(const EpochRecord& epoch);
  void add(const VoidRecord& gone);

  void add(const ReplicaLost& lost, double time_s);
  void add(const StepRepeated& repeated, double time_s);
  void add(const ReplicaJoined& joined, double time_s);
  void add(const StepValidated& validated, double time_s);
  void add(const CheckpointSaved& saved, double time_s);
  void add(const MembersAwaited& awaited, double time_s);
  void add(const ServiceAwaited& awaited, double time_s);
  /// The rest is told by records, or costs nothing.
  template <class Event>
  void add(const Event&, double) {}

  void insert(const IntervalMark& mark);
  StepInterval* interval_of(std::int64_t step);
  UsualStep usual_step() const;
  std::int64_t full_share() const;
  UndisturbedStep work_of(const StepInterval& interval, const UsualStep& usual,
                          std::int64_t full_share) const;
  std::vector<TimeSpan> cut_interval(const StepInterval& interval, const UndisturbedStep& work) const;

  Options options_;
  double last_s_;
  std::vector<StepInterval> done_;
  StepInterval open_;
  std::vector<ReplicaId> members_, earlier_members_;  // of the last epoch and the one before
  std::vector<ReplicaId> alive_;                      // of members_
  std::set<int> contributors_;                        // to the last commit
  std::vector<TimeSpan> windows_;                     // in which nothing could be decided, for one cause
};

}  // namespace tenax::resilience
