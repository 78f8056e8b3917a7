#include "tests/resilience/mitigation/made_up_grid.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace tenax::resilience {
namespace {

double factor_of(const auto& factors, const auto& key) {
  const auto found = factors.find(key);
  return found == factors.end() ? 1 : found->second;
}

}  // namespace

std::vector<int> counted(int size) {
  std::vector<int> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int> MadeUpGrid::suspects() const {
  std::set<int> groups;
  for (const auto& [group, factor] : slow_groups) groups.insert(group);
  for (const auto& [link, factor] : slow_links) groups.insert({link.first, link.second});
  return {groups.begin(), groups.end()};
}

double MadeUpGrid::link_factor(int one, int other) const {
  return factor_of(slow_links, std::minmax({one, other}));
}

double MadeUpGrid::pipeline_s(std::span<const int> groups) const {
  double sum_s = 0, longest_s = 0;
  for (std::size_t stage = 0; stage < groups.size(); ++stage) {
    const double stage_s = factor_of(slow_groups, groups[stage]) * (work.empty() ? 1 : work[stage]);
    sum_s += stage_s;
    longest_s = std::max(longest_s, stage_s);
    if (stage > 0) sum_s += 2 * message_s * link_factor(groups[stage - 1], groups[stage]);
  }
  return sum_s + (microbatches - 1) * longest_s;
}

double MadeUpGrid::data_group_s(std::span<const int> groups) const {
  double factor = 1;
  for (std::size_t i = 0; i < groups.size(); ++i)
    factor = std::max(factor, link_factor(groups[i], groups[(i + 1) % groups.size()]));
  return groups.size() == 1 ? 0 : factor * data_s;
}

GridTimes MadeUpGrid::times() const {
  return {.pipeline_s = [this](std::span<const int> groups) { return pipeline_s(groups); },
          .data_s = [this](int, std::span<const int> groups) { return data_group_s(groups); },
          .optimizer_s = 1};
}

PlacementTimes MadeUpGrid::at_launch() const {
  return {shape, times(), counted(shape.data * shape.pipeline), suspects()};
}

double MadeUpGrid::best_iteration_s() const {
  std::vector<int> groups = counted(shape.data * shape.pipeline);
  double best_s = at_launch().score().iteration_s;
  do {
    best_s = std::min(best_s, PlacementTimes(shape, times(), groups, suspects()).score().iteration_s);
  } while (std::next_permutation(groups.begin(), groups.end()));
  return best_s;
}

}  // namespace tenax::resilience
