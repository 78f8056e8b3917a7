// StepInterval: the time from one committed step to the next, and what happened in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "resilience/membership/epoch.hpp"

namespace tenax::resilience {

/// A member was lost, or an epoch was decided.
struct IntervalMark {
  enum class Kind { loss, epoch };

  double time_s = 0;
  Kind kind = Kind::loss;
  double detect_s = 0;                      ///< of a loss: since the member was heard of last
  bool was_last = false;                    ///< of a loss: no member is left
  EpochReason reason = EpochReason::start;  ///< of an epoch
};

struct StepInterval {
  double begin_s = 0, end_s = 0;  ///< the commits before it and at its end; the launch, the end of the run
  bool has_commit = false;
  bool is_first = false;  ///< of the account: nothing has been trained before
  bool is_void = false;   ///< its step did not count in the end
  std::int64_t step = 0, samples = 0;
  std::int64_t largest_share = 0;  ///< samples of one replica
  std::int64_t earlier_share = 0;  ///< likewise of the commit before
  int contributing = 0;            ///< replicas
  bool is_behind = false;          ///< a member fetched the state
  bool has_newcomers = false;      ///< a replica has samples that had none in the step before
  bool is_kept = false;            ///< what survivors had computed before a loss still counts
  bool saves = false;              ///< a checkpoint was written meanwhile
  double evaluation_s = 0;         ///< at its beginning
  double held_s = 0;               ///< at its end members waited for the state of one of them
  double saved_at_s = 0;           ///< of one without a commit: when the run's last checkpoint was complete
  std::vector<IntervalMark> marks = {};  ///< by time

  /// Null where none was decided.
  const IntervalMark* last_epoch() const {
    const auto found = std::find_if(marks.rbegin(), marks.rend(), [](const IntervalMark& mark) {
      return mark.kind == IntervalMark::Kind::epoch;
    });
    return found == marks.rend() ? nullptr : &*found;
  }
  const IntervalMark* first_epoch() const {
    const auto found = std::find_if(marks.begin(), marks.end(), [](const IntervalMark& mark) {
      return mark.kind == IntervalMark::Kind::epoch;
    });
    return found == marks.end() ? nullptr : &*found;
  }
  /// Nothing is known that made it longer.
  bool is_plain() const {
    return has_commit && marks.empty() && !is_behind && !has_newcomers && !is_kept && !saves &&
           evaluation_s == 0;
  }
};

}  // namespace tenax::resilience
