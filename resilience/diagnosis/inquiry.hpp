// Inquiry: from an onset to the components that are slow, and until they have healed (Greyhound,
// ATC 2025, sections 4.3 and 4.4). It lives on rank 0; what it wants of all ranks rides on votes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "io/deck/choice.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/detection/change.hpp"
#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/followed_components.hpp"
#include "resilience/diagnosis/healthy_stages.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// What rank 0's vote asks of all ranks.
struct InquiryOrder {
  bool wants_reports = false;  ///< after the next vote
  std::int64_t since = 0;      ///< the first iteration of RankReport::now
  /// healthy_before > 0: what was measured from the one iteration on and before the other is
  /// RankReport::healthy.
  std::int64_t healthy_from = 0, healthy_before = 0;
  bool validates = false;  ///< at the end of this step all ranks hold and test
  bool probes = false;     ///< likewise: links that no message uses any more
};

/// What is slow, or has been told to be and is not.
struct FailSlow {
  SlowCause cause = SlowCause::none;
  std::vector<Component> components;  ///< each with its own cause
  bool by_validation = false;         ///< else known by the profile
  double reaction_s = 0;              ///< since the iteration of the onset began
  std::int64_t onset = 0;             ///< the first slow iteration
  double healthy_iteration_s = 0;     ///< what an iteration took before anything was slow
  double lost_s = 0;  ///< what iterations took beyond that, since the onset; masked ones left out
};

/// What has been told is less slow than it was, and has not healed. No event of a run.
struct Eased {
  Component component;  ///< its factor now
};

using InquiryEvent = std::variant<FailSlow, Healed, Eased>;

/// Pure: numbers in, orders and events out. One thread.
class Inquiry {
 public:
  struct Options {
    double suspect = 1.1;  ///< times the median of its like makes a component suspect
    io::Validate validation = io::Validate::automatic;  ///< when profiling is not believed alone
    /// Seconds that a validation of these is expected to take.
    std::function<double(const Suspects&)> validation_s;
    /// Whether messages of a link's group go over it at present.
    FollowedComponents::IsUsed is_used = [](const Component&) { return true; };
  };

  Inquiry(parallel::ProcessGrid grid, Options options)
      : grid_(std::move(grid)), options_(std::move(options)), open_(options_.is_used) {}

  /// An iteration has ended, and `change` is what is known of the iteration time since. `is_healthy`: the
  /// last ones were as fast as any. `is_masked`: it says nothing of the machine, so nothing counts as lost.
  void add(std::int64_t iteration, double begin_s, double seconds, const std::optional<Change>& change,
           bool is_healthy = false, bool is_masked = false);
  /// Something else may have become slow since iteration `since`, unseen, as the program itself has
  /// changed what an iteration takes: all is looked through again. Nothing is told if nothing is
  /// found. While nothing has been told to be slow, or an onset is inquired into, this does nothing.
  void look_again(std::int64_t since);
  /// An onset, or a second look, is being inquired into.
  bool is_under_way() const { return onset_.has_value(); }
  /// Ranks have changed places: what they have reported counts no more, what is open stays open.
  void set_grid(parallel::ProcessGrid grid);
  /// For the next vote.
  InquiryOrder order() const;
  /// The reports of all ranks, by rank, that came after the vote of iteration `iteration`.
  void take(std::int64_t iteration, const std::vector<RankReport>& reports, double now_s);
  /// The last ones. A rank that has moved since it was healthy has what its stage takes then.
  const std::vector<RankReport>& reports() const { return reports_; }
  /// What is to be validated.
  const Suspects& suspects() const { return suspects_; }
  /// What the validation that order() asked for has found.
  void conclude(std::int64_t iteration, std::vector<Component> found, bool is_common, double now_s);

  /// What has been told to be slow, and has not healed.
  std::vector<Component> slow() const { return open_.all(); }
  /// Links to be tested where order() asks for that in iteration `iteration`; and what was found.
  std::vector<Component> to_probe(std::int64_t iteration) const { return open_.due(iteration); }
  void conclude_probes(std::int64_t iteration, const std::vector<PairResult>& results);

  /// Those since the last call.
  std::vector<InquiryEvent> take_events() { return std::exchange(events_, {}); }

 private:
  struct Iteration {
    std::int64_t number;
    double begin_s, seconds;
    bool is_masked;
  };

  void keep_at_times(std::int64_t iteration, bool is_healthy);
  bool is_level_known() const;
  void keep_healthy(std::int64_t before);
  void begin(const Change& onset);
  void call_off(double now_s);
  void profile(std::int64_t iteration, double now_s);
  void tell_healed(std::int64_t iteration, std::vector<Healed> healed);
  void explain(Component& component) const;
  void conclude_onset(std::int64_t iteration, FailSlow found, double now_s);
  void tell(std::int64_t iteration, FailSlow found, double now_s);
  void accept_level();
  double loss_of(const Iteration& iteration) const {
    return iteration.is_masked ? 0 : std::max(iteration.seconds - healthy_s_, 0.0);
  }
  bool has_paid() const { return lost_s_ >= options_.validation_s(suspects_); }
  bool needs_validation() const;

  parallel::ProcessGrid grid_;
  Options options_;
  std::deque<Iteration> iterations_;
  std::vector<RankReport> reports_;
  HealthyStages stages_;
  std::optional<Change> onset_;          // that is inquired into
  std::optional<double> onset_begin_s_;  // when its first iteration began; no value: not known any more
  bool is_second_look_ = false;          // it is none that the iteration time has shown
  double healthy_s_ = 0;                 // an iteration before anything was slow
  std::int64_t healthy_from_ = 0;        // since something was last slow
  std::int64_t healthy_before_ = 0;
  bool must_keep_healthy_ = false;  // the ranks are to
  bool knew_healthy_ = false;       // they have been, at these places, before anything was slow
  bool is_level_new_ = false;       // it has been accepted as healthy, and the ranks are to keep it
  Suspects suspects_;
  bool is_settled_ = false;  // the same parts were suspect twice in a row
  int profiles_ = 0;         // since the onset
  double lost_s_ = 0;        // likewise: what iterations took too long
  FollowedComponents open_;  // what has been told
  std::vector<InquiryEvent> events_;
};

}  // namespace tenax::resilience
