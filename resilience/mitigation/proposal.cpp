#include "resilience/mitigation/proposal.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "resilience/mitigation/ring_order.hpp"
#include "resilience/mitigation/topology_swap.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

/// What is proposed against one picture of a run.
class Proposals {
 public:
  Proposals(IterationForecast& forecast, const Possibilities& run)
      : forecast_(forecast),
        picture_(forecast.picture()),
        run_(run),
        grid_(run.shape, rank_of_position(picture_.placement.group_of_place, run.shape.tensor), 0),
        now_s_(forecast.iteration_s(picture_.placement)),
        soon_s_(std::min(now_s_, forecast.iteration_s(after_free_ways_back()))) {}

  std::vector<Proposal> all() {
    add_shares();
    add_rings();
    add_swap();
    add_restart();
    return std::move(all_);
  }

 private:
  std::vector<Component> against(Strategy strategy) const {
    std::vector<Component> components;
    for (const SlowPart& part : picture_.slow) {
      const std::vector<Strategy> helps = candidates_against(part.component, run_);
      if (std::find(helps.begin(), helps.end(), strategy) != helps.end())
        components.push_back(part.component);
    }
    return components;
  }

  // As Mitigation goes back where nothing that is slow needs uneven shares or another order of a ring.
  RunPlacement after_free_ways_back() const {
    RunPlacement back = picture_.placement;
    const auto any_slow = [&](auto counts) {
      return std::any_of(picture_.slow.begin(), picture_.slow.end(),
                         [&](const SlowPart& part) { return counts(part.component); });
    };
    if (!any_slow([](const Component& each) { return !each.is_link(); }))
      std::fill(back.microbatches.begin(), back.microbatches.end(), run_.microbatches);
    std::erase_if(back.ring_order, [&](const auto& ring) {
      return !any_slow([&](const Component& each) {
        return each.is_link() && each.group == GroupKind::data && data_group_of(each) == ring.first;
      });
    });
    return back;
  }

  DataGroup data_group_of(const Component& link) const {
    const auto place = grid_.coordinates_of(link.rank);
    return {.tensor = place.tensor, .stage = place.pipeline};
  }

  // A swap and a restart end uneven shares and other orders of rings, too. What that wins counts for neither
  // where it is to be had for nothing.
  void add(Strategy strategy, std::vector<Component> against, RunPlacement placement, double iteration_s) {
    const bool goes_back = strategy == Strategy::swap || strategy == Strategy::restart;
    const double without_s = goes_back ? soon_s_ : now_s_;
    if (iteration_s < without_s)
      all_.push_back({.strategy = strategy,
                      .against = std::move(against),
                      .placement = std::move(placement),
                      .gain_s = without_s - iteration_s,
                      .returned_s = now_s_ - without_s});
  }

  void add_placed(Strategy strategy, std::vector<Component> against, RunPlacement placement) {
    const double iteration_s = forecast_.iteration_s(placement);
    add(strategy, std::move(against), std::move(placement), iteration_s);
  }

  void add_shares() {
    std::vector<Component> slow = against(Strategy::microbatches);
    if (slow.empty()) return;
    RunPlacement placement = picture_.placement;
    placement.microbatches = forecast_.shares(picture_.layout->most_microbatches).microbatches;
    add_placed(Strategy::microbatches, std::move(slow), std::move(placement));
  }

  // The iteration waits for the slowest group: where several are about as slow, only all of them together win.
  void add_rings() {
    std::map<DataGroup, std::vector<Component>> slow;
    for (const Component& link : against(Strategy::ring)) slow[data_group_of(link)].push_back(link);
    RunPlacement together = picture_.placement;
    std::vector<Component> all;
    std::size_t groups = 0;
    for (const auto& [group, links] : slow) {
      const auto order = ring_past(group, links);
      if (!order) continue;
      RunPlacement alone = picture_.placement;
      order_ring(alone, group, *order);
      order_ring(together, group, *order);
      add_placed(Strategy::ring, links, std::move(alone));
      all.insert(all.end(), links.begin(), links.end());
      ++groups;
    }
    if (groups > 1) add_placed(Strategy::ring, std::move(all), std::move(together));
  }

  // None: there is no other order without these links, or none is needed.
  std::optional<std::vector<int>> ring_past(const DataGroup& group,
                                            const std::vector<Component>& links) const {
    std::vector<RankPair> edges;
    for (const Component& link : links) {
      const auto [lower, upper] =
          std::minmax({grid_.coordinates_of(link.rank).data, grid_.coordinates_of(link.other).data});
      edges.push_back({lower, upper});
    }
    const std::vector<int> now = ring_of(picture_.placement, group);
    auto free = ring_order_without(edges, now);
    if (free == now) return {};
    return free;
  }

  static void order_ring(RunPlacement& placement, const DataGroup& group, const std::vector<int>& order) {
    placement.ring_order[group] = order;
    if (std::is_sorted(order.begin(), order.end()))
      placement.ring_order.erase(group);  // as at the start of the run
  }

  // Whatever helps against them.
  std::vector<int> slow_groups() const {
    std::set<int> groups;
    for (const SlowPart& part : picture_.slow) {
      groups.insert(part.component.rank / run_.shape.tensor);
      if (part.component.is_link()) groups.insert(part.component.other / run_.shape.tensor);
    }
    return {groups.begin(), groups.end()};
  }

  // A link counts against a swap where it is, a rank that others make slow only on another host.
  void add_swap() {
    std::vector<Component> slow = against(Strategy::swap);
    if (slow.empty()) return;
    const int tensor = run_.shape.tensor;
    std::set<int> suspects;
    for (const Component& component : slow) {
      suspects.insert(component.rank / tensor);
      if (component.is_link()) suspects.insert(component.other / tensor);
    }
    const std::vector<int> groups(suspects.begin(), suspects.end());
    const auto may_exchange = [&](int suspect, int other) {
      return std::any_of(slow.begin(), slow.end(), [&](const Component& component) {
        const bool is_of_it = component.rank / tensor == suspect ||
                              (component.is_link() && component.other / tensor == suspect);
        return is_of_it && leaves_cause_by_swap(component, other * tensor, run_);
      });
    };
    const auto swap = find_topology_swap(
        PlacementTimes(run_.shape, forecast_.grid_times(), picture_.placement.group_of_place, slow_groups()),
        groups, may_exchange);
    if (!swap) return;
    RunPlacement placement = picture_.placement;
    placement.group_of_place = swap->group_of_place;
    placement.ring_order.clear();
    std::fill(placement.microbatches.begin(), placement.microbatches.end(), run_.microbatches);
    add_placed(Strategy::swap, std::move(slow), std::move(placement));
  }

  // The hosts of all that is slow are left out.
  void add_restart() {
    std::vector<Component> slow = against(Strategy::restart), all;
    for (const SlowPart& part : picture_.slow) all.push_back(part.component);
    if (!slow.empty() && hosts_of(all, run_).size() <= static_cast<std::size_t>(run_.spare_hosts))
      add(Strategy::restart, std::move(slow), picture_.placement, picture_.healthy_iteration_s);
  }

  IterationForecast& forecast_;
  const RunPicture& picture_;
  const Possibilities& run_;
  parallel::ProcessGrid grid_;
  double now_s_;
  double soon_s_;  // when healed parts have stayed so, for nothing
  std::vector<Proposal> all_;
};

}  // namespace

std::vector<Proposal> propose(IterationForecast& forecast, const Possibilities& run) {
  return Proposals(forecast, run).all();
}

}  // namespace tenax::resilience
