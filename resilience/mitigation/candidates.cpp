#include "resilience/mitigation/candidates.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace tenax::resilience {
namespace {

bool has(const std::vector<Strategy>& strategies, Strategy strategy) {
  return std::find(strategies.begin(), strategies.end(), strategy) != strategies.end();
}

bool is_possible(Strategy strategy, const Possibilities& run) {
  switch (strategy) {
    case Strategy::microbatches:
      return run.shape.data >= 2 && run.microbatches >= 2 && run.most_microbatches > run.microbatches;
    case Strategy::ring:
      return run.shape.data >= 4 && run.rings;
    case Strategy::swap:
      return run.shape.pipeline >= 2 && run.swap_fits;
    case Strategy::restart:
      return run.spare_hosts > 0;
  }
  return false;
}

std::vector<Strategy> help_against_slow_link(parallel::GroupKind group) {
  switch (group) {
    case parallel::GroupKind::data:
      return {Strategy::ring, Strategy::swap, Strategy::restart};
    case parallel::GroupKind::pipeline:
    case parallel::GroupKind::embedding:
      return {Strategy::swap, Strategy::restart};
    case parallel::GroupKind::tensor:
      return {Strategy::restart};
  }
  return {};
}

std::vector<Strategy> help_against(const Component& component) {
  switch (component.cause) {
    case SlowCause::compute:
    case SlowCause::cpu_contention:
      return {Strategy::microbatches, Strategy::swap, Strategy::restart};
    case SlowCause::link:
      return help_against_slow_link(component.group);
    case SlowCause::none:
    case SlowCause::common:
    case SlowCause::several:  // of no single component
      break;
  }
  return {};
}

}  // namespace

std::vector<Strategy> possible_strategies(const Possibilities& run) {
  std::vector<Strategy> possible;
  std::copy_if(kStrategies.begin(), kStrategies.end(), std::back_inserter(possible),
               [&](Strategy strategy) { return has(run.allowed, strategy) && is_possible(strategy, run); });
  return possible;
}

std::vector<Strategy> candidates_against(const Component& component, const Possibilities& run) {
  std::vector<Strategy> candidates = possible_strategies(run);
  const std::vector<Strategy> help = help_against(component);
  const auto ranks = static_cast<int>(run.host_of_rank.size());
  const auto is_vain = [&](Strategy strategy) {
    if (!has(help, strategy)) return true;
    if (strategy == Strategy::restart)
      return hosts_of({component}, run).size() > static_cast<std::size_t>(run.spare_hosts);
    if (strategy != Strategy::swap) return false;
    for (int rank = 0; rank < ranks; ++rank)
      if (leaves_cause_by_swap(component, rank, run)) return false;
    return true;
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_vain), candidates.end());
  return candidates;
}

std::vector<std::string> hosts_of(const std::vector<Component>& components, const Possibilities& run) {
  std::set<std::string> hosts;
  for (const Component& component : components)
    for (const int rank : {component.rank, component.is_link() ? component.other : component.rank})
      hosts.insert(run.host_of_rank.at(static_cast<std::size_t>(rank)));
  return {hosts.begin(), hosts.end()};
}

bool leaves_cause_by_swap(const Component& component, int other, const Possibilities& run) {
  const auto host = [&](int rank) { return run.host_of_rank.at(static_cast<std::size_t>(rank)); };
  if (other == component.rank) return false;
  return component.cause != SlowCause::cpu_contention || host(other) != host(component.rank);
}

}  // namespace tenax::resilience
