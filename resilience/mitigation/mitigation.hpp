// Mitigation: from what is slow to what is done about it, and back (Greyhound, ATC 2025, section 5).
// It lives on rank 0; what it decides all ranks carry out at a step's end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resilience/adaptation/flap_damper.hpp"
#include "resilience/diagnosis/inquiry.hpp"
#include "resilience/mitigation/action.hpp"
#include "resilience/mitigation/action_costs.hpp"
#include "resilience/mitigation/proposal.hpp"
#include "resilience/mitigation/ski_rental.hpp"

namespace tenax::resilience {

/// An action, when what it achieved is known.
struct MitigationRecord {
  Strategy strategy = Strategy::microbatches;
  bool is_revert = false;
  bool made_worse = false;  ///< of a revert: because of that, and not because all healed
  std::int64_t step = 0;    ///< the first under it
  std::vector<Component> components = {};
  RunPlacement placement = {};  ///< after it
  double lost_s = 0, expected_cost_s = 0, cost_s = 0;
  double measured_s = 0, predicted_s = 0, achieved_s = 0;  ///< of an iteration
  std::int64_t bytes = 0;                                  ///< that one rank moved, at most
  std::vector<int> ring_order = {};  ///< of a ring: data ranks of the one group that changed
  int generation = 0;                ///< of a swap: the grid's
};

/// Pure: events and times in, actions and records out. One thread.
class Mitigation {
 public:
  struct Options {
    parallel::GridShape shape;
    double min_gain = 0.02;  ///< share of an iteration that an action must be expected to win
    int heal_steps = 8;      ///< iterations that a component must have been healthy before the way back
  };
  Mitigation(RunPlacement launch, Options options)
      : launch_(launch), placement_(std::move(launch)), options_(std::move(options)) {}

  ActionCosts& costs() { return costs_; }
  const RunPlacement& placement() const { return placement_; }  ///< now
  /// Nothing is known to be slow, and nothing that was done about what was is left.
  bool is_restored() const { return placement_ == launch_ && slow().empty(); }

  /// Iteration `number` has ended. `is_masked`: it says nothing of the machine.
  void add(std::int64_t number, double seconds, bool is_masked);
  /// What has been found, is less slow, or has healed; the reports and the grid that it was found with.
  void take(const FailSlow& found, const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid);
  void take(const Eased& eased, const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid);
  void take(const Healed& healed);

  /// Proposals for slow() are to be made: what is slow, how much, or where has changed since the last ones.
  bool wants_proposals() const { return is_stale_ && !outcome_ && !slow().empty(); }
  std::vector<SlowPart> slow() const;
  double healthy_iteration_s() const { return healthy_s_; }
  /// They are not awaited any more if things change meanwhile.
  void await_proposals() { is_stale_ = false; }
  void propose(std::vector<Proposal> proposals) { proposals_ = std::move(proposals); }

  /// What to do now. Then it is awaited: applied() or failed() must follow. `is_inquired`: what makes
  /// iterations slow is being looked for; until that is known no action is blamed for it.
  std::optional<Action> decide(bool is_inquired = false);
  /// From iteration `first` on. cost_s: what training waited for it. `bytes`, `generation`: of a swap.
  void applied(std::int64_t first, double cost_s, std::int64_t bytes = 0, int generation = 0);
  /// It was not possible; all is as before, but for the time.
  void failed(double cost_s);

  /// The last action achieved clearly less than predicted: something else may have become slow, in
  /// this iteration or before. Told once.
  std::optional<std::int64_t> take_doubt() { return std::exchange(doubt_, {}); }

  /// Those that are known since the last call. `all`: with what is known of the one under way.
  std::vector<MitigationRecord> take_records(bool all = false);
  double seconds() const { return seconds_; }  ///< that all actions took
  double lost_s() const {
    return lost_s_;
  }  ///< beyond healthy iterations, while something is known to be slow

 private:
  struct Iteration {
    std::int64_t number;
    double seconds;
  };
  struct Case {  // a component that is or was slow
    SlowPart part;
    SkiRental rental;
    FlapDamper damper;
    bool is_slow = true;
    int well = 0;                              // iterations since it has healed
    std::map<Strategy, double> acted_on = {};  // until its way back: the loss that bought it
  };
  struct Outcome {  // of the action that was applied last
    MitigationRecord record;
    RunPlacement before;
    std::vector<double> seconds = {};
    bool is_disturbed = false;
  };
  static constexpr std::size_t kSettled = 8, kRemembered = 256;

  const Case* find(const Component& component) const;
  Case* find(const Component& component);
  void open(const FailSlow& found, const SlowPart& part);
  bool is_news(const Component& component) const;
  bool is_moved_link(const Component& component) const;
  DataGroup group_of(const Component& link) const;
  LostTime lost_since(std::int64_t onset) const;
  double recent_s() const;
  void settle();
  bool is_held(const Case& each) const {
    return each.is_slow || each.damper.holds() || (!each.acted_on.empty() && each.well < options_.heal_steps);
  }
  bool needs_ring(const DataGroup& group) const;
  std::optional<RunPlacement> back_from(Strategy strategy) const;
  bool is_way_back_paid(Strategy strategy) const;
  std::optional<MitigationRecord> undo();
  std::optional<MitigationRecord> way_back();
  std::optional<MitigationRecord> best_due();

  RunPlacement launch_, placement_;
  Options options_;
  ActionCosts costs_;
  std::deque<Iteration> iterations_;
  std::vector<Case> cases_;
  std::vector<Proposal> proposals_;
  bool is_stale_ = false;
  double healthy_s_ = 0;
  std::optional<MitigationRecord> decided_;  // not yet applied
  std::optional<Outcome> outcome_;           // applied, and not yet known
  std::optional<Outcome> regretted_;         // it made matters worse, and is still in force
  std::optional<std::int64_t> doubt_;        // see take_doubt()
  std::int64_t calm_iterations_ = 0;         // since anything was slow
  std::int64_t way_back_pause_ = 0;          // iterations of calm that a way back waits for, after one failed
  std::vector<MitigationRecord> records_;
  double seconds_ = 0;
  double lost_s_ = 0, lost_before_s_ = 0;  // lost_before_s_: until all had last been healthy
};

}  // namespace tenax::resilience
