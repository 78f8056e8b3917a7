// TimeByCause: the seconds of a run of replicas, each of which was useful or lost to one cause.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace tenax::resilience {

enum class LostCause {
  detect,       ///< a replica was lost, and the others stood still without knowing it
  reconfigure,  ///< until the next epoch was decided
  repeat,       ///< computed again, or thrown away, because a replica was lost
  first_step,   ///< what a step took longer in which replicas took part for the first time
  state,        ///< what a step took longer in which a replica fetched the state
  join_wait,    ///< the members waited at the step's end until it had got it
  checkpoint,   ///< while a checkpoint was written
  evaluation,   ///< validation
  slow,         ///< a step took longer than usual
  none_alive,   ///< too few replicas were there to train: also before the first epoch and after the last
  service,      ///< the membership had to change, and nobody was there to decide it
  absent        ///< the share of replicas that were not there while the others trained
};
inline constexpr std::size_t kLostCauses = 12;
/// As in the event `end`.
constexpr const char* name_of(LostCause cause) {
  constexpr const char* kNames[kLostCauses] = {"detect", "reconfigure", "repeat",     "first_step",
                                               "state",  "join_wait",   "checkpoint", "evaluation",
                                               "slow",   "none_alive",  "service",    "absent"};
  return kNames[static_cast<std::size_t>(cause)];
}

/// Seconds of one clock. Useful where `lost` is empty.
struct TimeSpan {
  double begin_s = 0, end_s = 0;
  std::optional<LostCause> lost = {};

  double seconds() const { return end_s - begin_s; }
};

class TimeByCause {
 public:
  TimeByCause() = default;
  explicit TimeByCause(const std::vector<TimeSpan>& spans) {
    for (const TimeSpan& span : spans)
      (span.lost ? lost_s_[static_cast<std::size_t>(*span.lost)] : useful_s_) += span.seconds();
  }

  double useful_s() const { return useful_s_; }
  double lost_s(LostCause cause) const { return lost_s_[static_cast<std::size_t>(cause)]; }
  /// Useful and lost ones.
  double wall_s() const {
    double sum = useful_s_;
    for (const double seconds : lost_s_) sum += seconds;
    return sum;
  }
  /// Of the wall time; 0 where there is none.
  double effective_percent() const { return wall_s() > 0 ? 100 * useful_s_ / wall_s() : 0; }

 private:
  double useful_s_ = 0;
  std::array<double, kLostCauses> lost_s_{};
};

}  // namespace tenax::resilience
