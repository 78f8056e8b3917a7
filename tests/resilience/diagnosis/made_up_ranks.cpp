#include "tests/resilience/diagnosis/made_up_ranks.hpp"

#include <algorithm>
#include <string>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

RankFigures& of(std::vector<RankFigures>& figures, int rank) {
  return figures[static_cast<std::size_t>(rank)];
}

double factor_of(const std::map<int, double>& factors, int rank) {
  return factors.contains(rank) ? factors.at(rank) : 1;
}

double preempted_s(const MadeUpFaults& faults, int rank) {
  return faults.preempted_s.contains(rank) ? faults.preempted_s.at(rank) : 0;
}

// By the faults of links both of whose ends are in the group.
double delay_s(const MadeUpFaults& faults, GroupKind kind, const std::vector<int>& group) {
  double delay_s = 0;
  for (const SlowLink& link : faults.links)
    if (link.group == kind && std::ranges::count(group, link.rank) && std::ranges::count(group, link.other))
      delay_s += link.delay_s;
  return delay_s;
}

}  // namespace

// Returns when each rank has done all passes. In a tensor group they end together.
std::vector<double> MadeUpRanks::run_passes(const MadeUpFaults& faults, Iteration& figures) {
  std::vector<double> ended_s(figures.size());
  for (int first = 0; first < grid.ranks(); ++first) {
    const std::vector<int> group = grid.group(GroupKind::tensor, first);
    if (group.front() != first) continue;
    const double transfer_s = group.size() > 1 ? 0.0002 + delay_s(faults, GroupKind::tensor, group) : 0;
    double now_s = 0;
    for (int pass = 0; pass < 16; ++pass) {
      std::vector<double> own_s;
      for (const int rank : group) {
        const double pass_s = (pass % 2 ? 0.010 : 0.005) * (1 + jitter * normal());
        own_s.push_back(pass_s * speed[static_cast<std::size_t>(rank)] * factor_of(faults.compute, rank) +
                        preempted_s(faults, rank) / 16);
      }
      const double slowest_s = std::ranges::max(own_s);
      for (std::size_t i = 0; i < group.size(); ++i) {
        of(figures, group[i]).compute_s += own_s[i];
        if (group.size() > 1) of(figures, group[i]).tensor_s += slowest_s - own_s[i] + transfer_s;
      }
      now_s += slowest_s + transfer_s;
    }
    for (const int rank : group) ended_s[static_cast<std::size_t>(rank)] = now_s;
  }
  return ended_s;
}

// Who has come last has the first transfer alone. Then all begin within 0.05 ms.
void MadeUpRanks::exchange(const MadeUpFaults& faults, const std::vector<double>& ready_s,
                           Iteration& figures) {
  for (int first = 0; first < grid.ranks(); ++first) {
    const std::vector<int> group = grid.group(GroupKind::data, first);
    if (group.size() < 2 || group.front() != first) continue;
    const double transfer_s = 0.0025 + delay_s(faults, GroupKind::data, group);
    double slowest_s = 0;
    for (const int rank : group) slowest_s = std::max(slowest_s, ready_s[static_cast<std::size_t>(rank)]);
    for (const int rank : group)
      of(figures, rank).data_s +=
          slowest_s - ready_s[static_cast<std::size_t>(rank)] + 4 * transfer_s + 0.00005 * std::abs(normal());
  }
}

void MadeUpRanks::send_messages(const MadeUpFaults& faults, Iteration& figures) {
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    parallel::GridCoordinates next = grid.coordinates_of(rank);
    if (++next.pipeline == grid.shape().pipeline) continue;
    const int other = grid.rank_of(next);
    const double delay_s = resilience::delay_s(faults, GroupKind::pipeline, {rank, other});
    of(figures, other).activations_s = 0.0001 * (1 + 0.2 * std::abs(normal())) + delay_s;
    of(figures, rank).gradients_s = 0.0001 * (1 + 0.2 * std::abs(normal())) + delay_s;
  }
}

MadeUpRanks::Iteration MadeUpRanks::iteration(const MadeUpFaults& faults) {
  Iteration figures(static_cast<std::size_t>(grid.ranks()));
  const std::vector<double> ended_s = run_passes(faults, figures);
  exchange(faults, ended_s, figures);
  send_messages(faults, figures);
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    RankFigures& own = of(figures, rank);
    if (grid.shape().tensor > 1) own.tensor_bytes = 16e6;
    if (grid.shape().data > 1) own.data_bytes = 4e8;
    own.preempted_s = 0.0001 * std::abs(normal()) + preempted_s(faults, rank);
  }
  return figures;
}

MadeUpRanks::Iteration MadeUpRanks::medians(int iterations, const MadeUpFaults& faults) {
  std::vector<Iteration> all;
  for (int i = 0; i < iterations; ++i) all.push_back(iteration(faults));
  Iteration result = all.front();
  for (std::size_t rank = 0; rank < result.size(); ++rank)
    for (double RankFigures::*figure : kRankFigures) {
      std::vector<double> values;
      for (const Iteration& one : all) values.push_back(one[rank].*figure);
      result[rank].*figure = median_of(values);
    }
  return result;
}

std::vector<RankReport> MadeUpRanks::reports(const MadeUpFaults& faults) {
  const Iteration healthy = medians(24, {});
  const Iteration now = medians(3, faults);
  std::vector<RankReport> reports;
  for (std::size_t rank = 0; rank < now.size(); ++rank)
    reports.push_back({.now = now[rank], .healthy = healthy[rank]});
  return reports;
}

Suspects MadeUpRanks::suspects(const MadeUpFaults& faults) {
  return find_suspects(reports(faults), grid, {.healthy_iteration_s = kIteration_s});
}

std::vector<std::string> words_of(const Suspects& suspects) {
  std::vector<std::string> words;
  for (const Component& part : suspects.components)
    words.push_back(part.is_link() ? std::string(name_of(part.group)) + " link " + std::to_string(part.rank) +
                                         "-" + std::to_string(part.other)
                                   : "rank " + std::to_string(part.rank) + " " + name_of(part.cause));
  for (const SuspectGroup& group : suspects.groups) {
    words.push_back(std::string(name_of(group.kind)) + " group");
    for (const int rank : group.ranks) words.back() += " " + std::to_string(rank);
  }
  if (suspects.is_common) words.push_back("common");
  return words;
}

}  // namespace tenax::resilience
