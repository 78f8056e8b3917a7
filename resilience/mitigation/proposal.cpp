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
        now_s_(forecast.iteration_s(picture_.placement)) {}

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

  void add(Strategy strategy, std::vector<Component> against, RunPlacement placement, double iteration_s) {
    if (iteration_s < now_s_)
      all_.push_back({.strategy = strategy,
                      .against = std::move(against),
                      .placement = std::move(placement),
                      .gain_s = now_s_ - iteration_s});
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

  void add_rings() {
    std::map<DataGroup, std::vector<Component>> slow;
    for (const Component& link : against(Strategy::ring)) {
      const auto place = grid_.coordinates_of(link.rank);
      slow[{.tensor = place.tensor, .stage = place.pipeline}].push_back(link);
    }
    for (const auto& [group, links] : slow) add_ring(group, links);
  }

  void add_ring(const DataGroup& group, const std::vector<Component>& links) {
    std::vector<RankPair> edges;
    for (const Component& link : links) {
      const auto [lower, upper] =
          std::minmax({grid_.coordinates_of(link.rank).data, grid_.coordinates_of(link.other).data});
      edges.push_back({lower, upper});
    }
    RunPlacement placement = picture_.placement;
    auto& order = placement.ring_order[group];
    if (order.empty())
      for (int data = 0; data < run_.shape.data; ++data) order.push_back(data);
    const auto free = ring_order_without(edges, order);
    if (!free) return;
    order = *free;
    if (std::is_sorted(order.begin(), order.end()))
      placement.ring_order.erase(group);  // as at the start of the run
    add_placed(Strategy::ring, links, std::move(placement));
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
  std::vector<Proposal> all_;
};

}  // namespace

std::vector<Proposal> propose(IterationForecast& forecast, const Possibilities& run) {
  return Proposals(forecast, run).all();
}

}  // namespace tenax::resilience
