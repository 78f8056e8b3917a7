// Inquiry: from an onset to the components that are slow, and until they have healed (Greyhound,
// ATC 2025, sections 4.3 and 4.4). It lives on rank 0; what it wants of all ranks rides on votes.
#pragma once

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
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// What rank 0's vote asks of all ranks.
struct InquiryOrder {
  bool wants_reports = false;       ///< with the next vote
  std::int64_t since = 0;           ///< the first iteration of RankReport::now
  std::int64_t healthy_before = 0;  ///< > 0: what was measured before it is RankReport::healthy
  bool validates = false;           ///< at the end of this step all ranks hold and test
};

/// What is slow, or has been told to be and is not.
struct FailSlow {
  SlowCause cause = SlowCause::none;
  std::vector<Component> components;  ///< each with its own cause
  bool by_validation = false;         ///< else known by the profile
  double reaction_s = 0;              ///< since the iteration of the onset began
  std::int64_t onset = 0;             ///< the first slow iteration
  double healthy_iteration_s = 0;     ///< what an iteration took before anything was slow
};

/// A component is as fast again as it was.
struct Healed {
  Component component;  ///< its factor now
  std::int64_t slow_steps = 0;
};

using InquiryEvent = std::variant<FailSlow, Healed>;

/// Pure: numbers in, orders and events out. One thread.
class Inquiry {
 public:
  struct Options {
    double suspect = 1.1;  ///< times the median of its like makes a component suspect
    io::Validate validation = io::Validate::automatic;  ///< when profiling is not believed alone
    /// Seconds that a validation of these is expected to take.
    std::function<double(const Suspects&)> validation_s;
  };

  Inquiry(parallel::ProcessGrid grid, Options options)
      : grid_(std::move(grid)), options_(std::move(options)) {}

  /// An iteration has ended, and `change` is what is known of the iteration time since.
  void add(std::int64_t iteration, double begin_s, double seconds, const std::optional<Change>& change);
  /// Ranks have changed places: what is known of the places counts no more, what is open stays open.
  void set_grid(parallel::ProcessGrid grid);
  /// For the next vote.
  InquiryOrder order() const;
  /// The reports of all ranks, by rank, that came with the vote of iteration `iteration`.
  void take(std::int64_t iteration, const std::vector<RankReport>& reports, double now_s);
  /// The last ones.
  const std::vector<RankReport>& reports() const { return reports_; }
  /// What is to be validated.
  const Suspects& suspects() const { return suspects_; }
  /// What the validation that order() asked for has found.
  void conclude(std::int64_t iteration, std::vector<Component> found, bool is_common, double now_s);

  /// Those since the last call.
  std::vector<InquiryEvent> take_events() { return std::exchange(events_, {}); }

 private:
  struct Iteration {
    std::int64_t number;
    double begin_s, seconds;
  };
  struct Open {  // a component that has been told
    Component component;
    std::int64_t since;
    double told_s;  // its figure then
  };

  void begin(const Change& onset);
  void call_off(double now_s);
  void profile(std::int64_t iteration, double now_s);
  void follow(std::int64_t iteration);
  bool is_told(const Component& component) const;
  bool is_told(const SuspectGroup& group) const;
  bool leave_out_told(Suspects& suspects) const;
  void tell(std::int64_t iteration, FailSlow found, double now_s);
  bool has_paid() const;
  bool needs_validation() const;

  parallel::ProcessGrid grid_;
  Options options_;
  std::deque<Iteration> iterations_;
  std::vector<RankReport> reports_;
  std::optional<Change> onset_;  // that is inquired into
  double healthy_s_ = 0;         // an iteration before anything was slow
  std::int64_t healthy_before_ = 0;
  bool must_keep_healthy_ = false;  // the ranks know what is healthy
  Suspects suspects_;
  bool is_settled_ = false;  // the same parts were suspect twice in a row
  int profiles_ = 0;         // since the onset
  std::vector<Open> open_;
  std::vector<InquiryEvent> events_;
};

}  // namespace tenax::resilience
