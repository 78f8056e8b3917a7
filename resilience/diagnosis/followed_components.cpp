#include "resilience/diagnosis/followed_components.hpp"

#include <algorithm>

#include "resilience/diagnosis/part_figure.hpp"

namespace tenax::resilience {

using parallel::ProcessGrid;

namespace {

bool is_within(const Component& link, const SuspectGroup& group) {
  const auto has = [&](int rank) {
    return std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
  };
  return link.is_link() && link.group == group.kind && has(link.rank) && has(link.other);
}

}  // namespace

std::vector<Component> FollowedComponents::all() const {
  std::vector<Component> components;
  for (const Open& open : open_) components.push_back(open.component);
  return components;
}

void FollowedComponents::add(const Component& component, std::int64_t since,
                             const std::vector<RankReport>& reports, const ProcessGrid& grid) {
  std::erase_if(open_, [&](const Open& open) { return open.component.is_same_part(component); });
  open_.push_back(
      {.component = component, .since = since, .told_s = figure_of(component, reports, grid).now_s});
}

bool FollowedComponents::leave_out(Suspects& suspects, double suspect, const std::vector<RankReport>& reports,
                                   const ProcessGrid& grid) const {
  const auto is_as_told = [&](const Open& open) {
    return is_followed(open.component) &&
           figure_of(open.component, reports, grid).now_s <= suspect * open.told_s;
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

// Healthy, it takes this now. Half of what it was told to take too long must be gone all the same: of two ranks, the other one may
// have become slow by itself.
double FollowedComponents::expected_s(const Open& open, const PartFigure& times, double shared_growth) {
  if (open.component.is_link()) return times.healthy_s;
  const double halfway_s = std::max(times.healthy_s, (times.healthy_s + open.told_s) / 2);
  return std::min(times.healthy_s * shared_growth, halfway_s);
}

std::vector<Healed> FollowedComponents::follow(std::int64_t iteration, const std::vector<RankReport>& reports,
                                               const ProcessGrid& grid) {
  std::vector<Healed> healed;
  const double shared_growth = shared_growth_of_ranks(reports);
  std::erase_if(open_, [&](Open& open) {
    const PartFigure times =
        is_followed(open.component) ? figure_of(open.component, reports, grid) : PartFigure{};
    const bool is_known = times.healthy_s > 0 && times.now_s > 0;
    if (is_known)
      open.probes.reset();
    else if (open.component.is_link() && !open.probes)
      open.probes.emplace(iteration - 1);
    if (!is_known || times.now_s > kHealed * expected_s(open, times, shared_growth)) return false;
    open.component.factor = times.now_s / times.healthy_s;
    healed.push_back({open.component, iteration - open.since});
    return true;
  });
  return healed;
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
