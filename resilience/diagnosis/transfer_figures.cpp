#include "resilience/diagnosis/transfer_figures.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

struct GroupKeys {
  double RankFigures::*seconds;
  double RankFigures::*bytes;
};

GroupKeys keys_of(GroupKind kind) {
  assert((kind == GroupKind::tensor || kind == GroupKind::data) && "no other group is timed");
  if (kind == GroupKind::tensor) return {&RankFigures::tensor_s, &RankFigures::tensor_bytes};
  return {&RankFigures::data_s, &RankFigures::data_bytes};
}

PartFigure least_seconds(const std::vector<int>& ranks, const std::vector<RankReport>& reports,
                         const GroupKeys& keys) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  PartFigure least{.now_s = kInfinite, .healthy_s = kInfinite};
  for (const int rank : ranks) {
    const RankReport& report = reports[static_cast<std::size_t>(rank)];
    least.work = std::max(least.work, report.now.*keys.bytes);
    least.now_s = std::min(least.now_s, report.now.*keys.seconds);
    least.healthy_s = std::min(least.healthy_s, report.healthy.*keys.seconds);
  }
  return least;
}

double slower_direction_s(const RankFigures& lower, const RankFigures& upper) {
  return std::max(upper.activations_s, lower.gradients_s);
}

// A bound says nothing of how long a message takes at the least.
double surely_slower_direction_s(const RankFigures& lower, const RankFigures& upper) {
  return std::max(upper.activations_at_most > 0 ? 0 : upper.activations_s,
                  lower.gradients_at_most > 0 ? 0 : lower.gradients_s);
}

// What both bounded then and now says nothing of a slowdown, where the other direction does.
double comparable_most_s(const RankReport& lower, const RankReport& upper) {
  const bool activations = upper.now.activations_at_most == 0 || upper.healthy.activations_at_most == 0;
  const bool gradients = lower.now.gradients_at_most == 0 || lower.healthy.gradients_at_most == 0;
  return std::max(activations ? upper.now.activations_s : 0, gradients ? lower.now.gradients_s : 0);
}

// Both directions take as long while all is well: of what is healthy, a bound counts where there is nothing else.
PartFigure link_delay(const RankReport& lower, const RankReport& upper) {
  PartFigure delay{.now_s = surely_slower_direction_s(lower.now, upper.now),
                   .healthy_s = surely_slower_direction_s(lower.healthy, upper.healthy)};
  if (delay.healthy_s > 0) delay.most_s = comparable_most_s(lower, upper);
  if (delay.healthy_s == 0) delay.healthy_s = slower_direction_s(lower.healthy, upper.healthy);
  if (delay.most_s == 0) delay.most_s = slower_direction_s(lower.now, upper.now);
  return delay;
}

}  // namespace

std::vector<TransferFigure> group_figures(GroupKind kind, const std::vector<RankReport>& reports,
                                          const parallel::ProcessGrid& grid) {
  std::vector<TransferFigure> figures;
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    std::vector<int> ranks = grid.group(kind, rank);
    if (ranks.size() < 2 || ranks.front() != rank) continue;
    const PartFigure seconds = least_seconds(ranks, reports, keys_of(kind));
    figures.push_back({.kind = kind, .ranks = std::move(ranks), .seconds = seconds});
  }
  return figures;
}

std::vector<TransferFigure> pipeline_link_figures(const std::vector<RankReport>& reports,
                                                  const parallel::ProcessGrid& grid) {
  std::vector<TransferFigure> figures;
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    parallel::GridCoordinates next = grid.coordinates_of(rank);
    if (++next.pipeline == grid.shape().pipeline) continue;
    const int other = grid.rank_of(next);
    const PartFigure delay =
        link_delay(reports[static_cast<std::size_t>(rank)], reports[static_cast<std::size_t>(other)]);
    figures.push_back({.kind = GroupKind::pipeline, .ranks = {rank, other}, .seconds = delay, .times = 4});
  }
  return figures;
}

double noise_of_transfer_s(const TransferFigure& transfer, const std::vector<RankReport>& reports,
                           double iteration_s) {
  double longest_s = iteration_s;
  for (const int rank : transfer.ranks)
    longest_s = std::max(longest_s, reports[static_cast<std::size_t>(rank)].now.compute_s);
  return kNoiseShare * longest_s / transfer.times;
}

}  // namespace tenax::resilience
