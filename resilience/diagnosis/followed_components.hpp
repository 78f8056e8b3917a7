// FollowedComponents: what has been told to be slow, until it has healed. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/pair_plan.hpp"
#include "resilience/diagnosis/part_comparison.hpp"
#include "resilience/diagnosis/probe_schedule.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// Within this share of its healthy value a part, or an iteration, is healthy.
inline constexpr double kHealed = 1.1;

/// A component is as fast again as it was.
struct Healed {
  Component component;  ///< its factor now
  std::int64_t slow_steps = 0;
};

/// A part has healed when it takes no more than kHealed of what it takes healthy, or than half of what
/// it was told to take too long, where that is less; or when half of what is noise at most is left. A
/// rank, and a link that messages go over, are followed by the ranks' reports. What most ranks
/// compute slower by is no rank's own: a rank that is slower by no more has healed. A link of which
/// only a bound is known has healed if the bound says so, and is as slow as it was told if not. A link
/// that no message of its group uses any more, or that reports tell nothing healthy of, is to be
/// tested (ProbeSchedule); the result stands until the next test.
class FollowedComponents {
 public:
  /// Whether messages of a link's group go over it at present.
  using IsUsed = std::function<bool(const Component& link)>;
  explicit FollowedComponents(IsUsed is_used) : is_used_(std::move(is_used)) {}

  bool is_empty() const { return open_.empty(); }
  std::vector<Component> all() const;
  /// It is slow, since `since`; again, if it has been told before. `reports`, here and below: of all
  /// ranks, by world rank. `iteration_s`: of one before anything was slow.
  void add(const Component& component, std::int64_t since, const std::vector<RankReport>& reports,
           const parallel::ProcessGrid& grid, double iteration_s);
  /// Takes off what is told and not slower by `suspect` since then: it explains that iterations still
  /// are slow, after something was done about it. False: there was nothing such.
  bool leave_out(Suspects& suspects, double suspect, const std::vector<RankReport>& reports,
                 const parallel::ProcessGrid& grid) const;
  /// `reports` have come after the vote of iteration `iteration`. Returns what has healed.
  std::vector<Healed> follow(std::int64_t iteration, const std::vector<RankReport>& reports,
                             const parallel::ProcessGrid& grid);
  /// `reports` are the next ones. Returns what was in eight of them in a row faster by `suspect` than it
  /// was told, or last returned, to be, and has not healed; with its factor now.
  std::vector<Component> ease(double suspect, const std::vector<RankReport>& reports,
                              const parallel::ProcessGrid& grid);
  /// Which links are to be tested at the end of that iteration.
  std::vector<Component> due(std::int64_t iteration) const;
  /// They have been tested, with these results; of a link without one nothing new is known. Returns
  /// what has healed.
  std::vector<Healed> take_probes(std::int64_t iteration, const std::vector<PairResult>& results);

 private:
  struct Open {
    Component component;
    std::int64_t since = 0;
    PartFigure told = {};                      // its figure then
    double told_factor = 1;                    // of the figure, or of the part itself where that is more
    PartFigure last = {};                      // its figure when it was told, or has last become less slow
    int faster_reports = 0;                    // in a row
    std::optional<ProbeSchedule> probes = {};  // where reports tell nothing
  };
  static double healed_s(const Open& open, const PartFigure& times, double shared_growth);
  bool is_followed(const Component& component) const { return !component.is_link() || is_used_(component); }

  IsUsed is_used_;
  std::vector<Open> open_;
};

}  // namespace tenax::resilience
