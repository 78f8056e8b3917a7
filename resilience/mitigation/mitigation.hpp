// Mitigation: from what is slow to what is done about it, and back (Greyhound, ATC 2025, section 5).
// It lives on rank 0; what it decides all ranks carry out at a step's end.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "resilience/diagnosis/inquiry.hpp"
#include "resilience/mitigation/action.hpp"
#include "resilience/mitigation/action_costs.hpp"
#include "resilience/mitigation/action_outcome.hpp"
#include "resilience/mitigation/iteration_loss.hpp"
#include "resilience/mitigation/mitigation_record.hpp"
#include "resilience/mitigation/proposal.hpp"
#include "resilience/mitigation/slow_cases.hpp"
#include "resilience/mitigation/way_back.hpp"

namespace tenax::resilience {

/// Pure: events and times in, actions and records out. One thread.
class Mitigation {
 public:
  struct Options {
    parallel::GridShape shape;
    double min_gain = 0.02;  ///< share of an iteration that an action must be expected to win
    int heal_steps = 8;      ///< iterations that a component must have been healthy before the way back
  };
  Mitigation(RunPlacement launch, Options options);

  ActionCosts& costs() { return costs_; }
  const RunPlacement& placement() const { return placement_; }  ///< now
  /// Nothing is known to be slow, and nothing that was done about what was is left.
  bool is_restored() const { return way_back_.is_gone(placement_) && !cases_.is_any_slow(); }

  /// Iteration `number` has ended. `is_masked`: it says nothing of the machine, so nothing is decided by its time.
  void add(std::int64_t number, double seconds, bool is_masked);
  /// What has been found, is less slow, or has healed; the reports and the grid that it was found with.
  void take(const FailSlow& found, const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid);
  void take(const Eased& eased, const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid);
  void take(const Healed& healed);

  /// Proposals for slow() are to be made: what is slow, how much, or where has changed since the last ones.
  bool wants_proposals() const { return is_stale_ && !outcome_.is_awaited() && cases_.is_any_slow(); }
  std::vector<SlowPart> slow() const { return cases_.slow(); }
  double healthy_iteration_s() const { return loss_.healthy_s(); }
  /// They are not awaited any more if things change meanwhile.
  void await_proposals() { is_stale_ = false; }
  void propose(std::vector<Proposal> proposals) { proposals_ = std::move(proposals); }

  /// What to do now. Then it is awaited: applied(), failed() or withdraw() must follow. `is_inquired`: what makes
  /// iterations slow is being looked for; until that is known no action is blamed for it.
  std::optional<Action> decide(bool is_inquired = false);
  /// From iteration `first` on. cost_s: what training waited for it. `bytes`, `generation`: of a swap. `placement`: what came
  /// about, where that may be less than was asked for.
  void applied(std::int64_t first, double cost_s, std::int64_t bytes = 0, int generation = 0,
               std::optional<RunPlacement> placement = {});
  /// It was not possible; all is as before, but for the time.
  void failed(double cost_s);
  /// It was not the time for it: the next decide() decides anew.
  void withdraw() { decided_.reset(); }

  /// The last action achieved clearly less than predicted: something else may have become slow, in
  /// this iteration or before. Told once.
  std::optional<std::int64_t> take_doubt() { return outcome_.take_doubt(); }

  /// Those that are known since the last call. `all`: with what is known of the one under way.
  std::vector<MitigationRecord> take_records(bool all = false) {
    return outcome_.take_records(all, loss_.recent_s());
  }
  double seconds() const { return seconds_; }       ///< that all actions took
  double lost_s() const { return loss_.lost_s(); }  ///< IterationLoss::lost_s()

 private:
  void outdate();
  std::optional<MitigationRecord> best_due() const;

  RunPlacement placement_;
  ActionCosts costs_;
  IterationLoss loss_;
  SlowCases cases_;
  ActionOutcome outcome_;  // of what was applied last
  WayBack way_back_;
  std::vector<Proposal> proposals_;
  bool is_stale_ = false;
  std::optional<MitigationRecord> decided_;  // not yet applied
  double seconds_ = 0;
};

}  // namespace tenax::resilience
