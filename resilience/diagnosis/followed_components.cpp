#include "resilience/diagnosis/followed_components.hpp"

#include <algorithm>

#include "resilience/diagnosis/part_figure.hpp"

namespace tenax::resilience {

using parallel::ProcessGrid;

namespace {

/// Reports in a row overlap: after so many all iterations of the first are gone.
constexpr int kEased = 8;

bool is_within(const Component& link, const SuspectGroup& group) {
  const auto has = [&](int rank) {
    return std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
  };
  return link.is_link() && link.group == group.kind && has(link.rank) && has(link.other);
}

// 1 where nothing healthy is known.
double factor_of(const PartFigure& figure) {
  return figure.healthy_s > 0 ? figure.now_s / figure.healthy_s : 1;
}

// What a part of these figures would take if it was as slow as it was then: ranks may have changed places since.
double as_slow_s(const PartFigure& then, const PartFigure& times) {
  const bool is_known = then.healthy_s > 0 && times.healthy_s > 0;
  return is_known ? factor_of(then) * times.healthy_s : then.now_s;
}

}  // namespace

std::vector<Component> FollowedComponents::all() const {
  std::vector<Component> components;
  for (const Open& open : open_) components.push_back(open.component);
  return components;
}

void FollowedComponents::add(const Component& component, std::int64_t since,
                             const std::vector<RankReport>& reports, const ProcessGrid& grid,
                             double iteration_s) {
  std::erase_if(open_, [&](const Open& open) { return open.component.is_same_part(component); });
  const PartFigure told = figure_of(component, reports, grid, iteration_s);
  open_.push_back({.component = component,
                   .since = since,
                   .told = told,
                   .told_factor = std::max(component.factor, factor_of(told)),
                   .last = told});
}

bool FollowedComponents::leave_out(Suspects& suspects, double suspect, const std::vector<RankReport>& reports,
                                   const ProcessGrid& grid) const {
  const auto is_as_told = [&](const Open& open) {
    if (!is_followed(open.component)) return false;
    const PartFigure times = figure_of(open.component, reports, grid);
    return times.now_s <= suspect * as_slow_s(open.last, times);
  };
  const auto is_told = [&](const Component& component) {
    return std::any_of(open_.begin(), open_.end(), [&](const Open& open) {
      return open.component.is_same_part(component) && is_as_told(open);
    });
  };
  const auto explains = [&](const SuspectGroup& group) {
    return std::any_of(open_.begin(), open_.end(), [&](const Open& open) {
      return is_within(open.component, group) && is_as_told(open);
    });
  };
  return std::erase_if(suspects.components, is_told) + std::erase_if(suspects.groups, explains) > 0;
}

// Half of what it was told to take too long must be gone whatever all ranks have grown by: of two ranks, the other
// one may have become slow by itself.
double FollowedComponents::healed_s(const Open& open, const PartFigure& times, double shared_growth) {
  const double halfway_s = std::max(times.healthy_s, (times.healthy_s + as_slow_s(open.told, times)) / 2);
  const double most = std::min(kHealed, (1 + open.told_factor) / 2);
  const double expected_s =
      open.component.is_link() ? times.healthy_s : std::min(times.healthy_s * shared_growth, halfway_s);
  return std::max(most * expected_s, std::min(times.healthy_s + open.told.floor_s / 2, halfway_s));
}

std::vector<Healed> FollowedComponents::follow(std::int64_t iteration, const std::vector<RankReport>& reports,
                                               const ProcessGrid& grid) {
  std::vector<Healed> healed;
  const double shared_growth = shared_growth_of_ranks(reports);
  std::erase_if(open_, [&](Open& open) {
    PartFigure times = is_followed(open.component) ? figure_of(open.component, reports, grid) : PartFigure{};
    times.now_s = times.at_most_s();
    const bool is_known = times.healthy_s > 0 && times.now_s > 0;
    if (is_known)
      open.probes.reset();
    else if (open.component.is_link() && !open.probes)
      open.probes.emplace(iteration - 1);
    if (!is_known || times.now_s > healed_s(open, times, shared_growth)) return false;
    open.component.factor = times.now_s / times.healthy_s;
    healed.push_back({open.component, iteration - open.since});
    return true;
  });
  return healed;
}

std::vector<Component> FollowedComponents::ease(double suspect, const std::vector<RankReport>& reports,
                                                const ProcessGrid& grid) {
  std::vector<Component> eased;
  for (Open& open : open_) {
    const PartFigure times =
        is_followed(open.component) ? figure_of(open.component, reports, grid) : PartFigure{};
    const bool is_known = times.healthy_s > 0 && times.now_s > 0;
    const bool is_faster = is_known && suspect * times.at_most_s() < as_slow_s(open.last, times);
    open.faster_reports = is_faster ? open.faster_reports + 1 : 0;
    if (open.faster_reports < kEased) continue;
    open.faster_reports = 0;
    open.last = times;
    open.component.factor = factor_of(times);
    eased.push_back(open.component);
  }
  return eased;
}

std::vector<Component> FollowedComponents::due(std::int64_t iteration) const {
  std::vector<Component> links;
  for (const Open& open : open_)
    if (open.probes && open.probes->is_due(iteration)) links.push_back(open.component);
  return links;
}

std::vector<Healed> FollowedComponents::take_probes(std::int64_t iteration,
                                                    const std::vector<PairResult>& results) {
  std::vector<Healed> healed;
  std::erase_if(open_, [&](Open& open) {
    if (!open.probes || !open.probes->is_due(iteration)) return false;
    open.probes->on_probe(iteration);
    const auto result = std::find_if(results.begin(), results.end(),
                                     [&](const PairResult& pair) { return pair.test.is_of(open.component); });
    if (result == results.end()) return false;
    open.component.factor = result->factor;
    if (result->is_slow) return false;
    healed.push_back({open.component, iteration - open.since});
    return true;
  });
  return healed;
}

}  // namespace tenax::resilience
