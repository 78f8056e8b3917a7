#include "resilience/diagnosis/suspects.hpp"

#include <algorithm>
#include <cassert>

#include "resilience/diagnosis/part_comparison.hpp"
#include "resilience/diagnosis/transfer_figures.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

constexpr double kCrowded = 0.33;  // of a rank's computing

class SuspectSearch {
 public:
  SuspectSearch(const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid,
                const SuspectOptions& options)
      : reports_(reports), grid_(grid), options_(options) {
    assert(reports.size() == static_cast<std::size_t>(grid.ranks()));
  }

  Suspects run();

 private:
  void search_ranks();
  void search_transfers(std::vector<TransferFigure> transfers);
  void add_transfer(const TransferFigure& transfer, const PartComparison& comparison, std::size_t part);
  bool add_contended(const TransferFigure& transfer, double excess_s);
  void compare_preemption();

  const RankReport& report(int rank) const { return reports_[static_cast<std::size_t>(rank)]; }
  double preempted_s(int rank) const;
  bool is_crowded(int rank) const;

  const std::vector<RankReport>& reports_;
  const parallel::ProcessGrid& grid_;
  const SuspectOptions& options_;
  bool is_common_ = false;  // in one of its figures
  std::vector<Component> ranks_, links_;
  std::vector<SuspectGroup> groups_;
};

// More than before.
double SuspectSearch::preempted_s(int rank) const {
  return std::max(0.0, report(rank).now.preempted_s - report(rank).healthy.preempted_s);
}

// Others have so much of its processor that its times say little else, be it as before.
bool SuspectSearch::is_crowded(int rank) const {
  return report(rank).now.preempted_s > kCrowded * report(rank).now.compute_s;
}

void SuspectSearch::search_ranks() {
  std::vector<PartFigure> ranks;
  for (int rank = 0; rank < grid_.ranks(); ++rank)
    ranks.push_back({.work = static_cast<double>(grid_.coordinates_of(rank).pipeline),
                     .now_s = report(rank).now.compute_s,
                     .healthy_s = report(rank).healthy.compute_s,
                     .floor_s = kNoiseShare * options_.healthy_iteration_s});
  const PartComparison comparison(std::move(ranks), options_.suspect);
  for (std::size_t part = 0; part < comparison.size(); ++part) {
    if (!comparison.is_suspect(part)) continue;
    const int rank = static_cast<int>(part);
    const bool contended = is_crowded(rank) || preempted_s(rank) >= comparison.excess_s(part) / 2;
    ranks_.push_back({.rank = rank,
                      .cause = contended ? SlowCause::cpu_contention : SlowCause::compute,
                      .factor = comparison.factor(part),
                      .healthy_s = comparison.healthy_s(part)});
  }
  is_common_ |= comparison.is_common();
}

void SuspectSearch::search_transfers(std::vector<TransferFigure> transfers) {
  std::vector<PartFigure> parts;
  for (TransferFigure& transfer : transfers) {
    transfer.seconds.floor_s = noise_of_transfer_s(transfer, reports_, options_.healthy_iteration_s);
    parts.push_back(transfer.seconds);
  }
  const PartComparison comparison(std::move(parts), options_.suspect);
  for (std::size_t part = 0; part < transfers.size(); ++part)
    if (comparison.is_suspect(part)) add_transfer(transfers[part], comparison, part);
  is_common_ |= comparison.is_common();
}

void SuspectSearch::add_transfer(const TransferFigure& transfer, const PartComparison& comparison,
                                 std::size_t part) {
  if (add_contended(transfer, comparison.excess_s(part) * transfer.times)) return;
  const double factor = comparison.factor(part);
  if (transfer.ranks.size() > 2) {
    groups_.push_back({.kind = transfer.kind, .ranks = transfer.ranks, .factor = factor});
    return;
  }
  const auto [lower, upper] = std::minmax(transfer.ranks[0], transfer.ranks[1]);
  links_.push_back({.kind = Component::Kind::link,
                    .rank = lower,
                    .other = upper,
                    .group = transfer.kind,
                    .cause = SlowCause::link,
                    .factor = factor,
                    .healthy_s = comparison.healthy_s(part)});
}

// Whether a rank of it was kept from the processor for half of the excess: then that is the cause. Who waits for such a rank
// polls, and is kept from the processor a little, too.
bool SuspectSearch::add_contended(const TransferFigure& transfer, double excess_s) {
  double longest_s = 0;
  bool any_is_crowded = false;
  for (const int rank : transfer.ranks) {
    longest_s = std::max(longest_s, preempted_s(rank));
    any_is_crowded |= is_crowded(rank);
  }
  if (longest_s < excess_s / 2 && !any_is_crowded) return false;
  for (const int rank : transfer.ranks) {
    const bool is_cause = preempted_s(rank) >= std::max(excess_s, longest_s) / 2;
    if (!is_cause && !is_crowded(rank)) continue;
    const double compute_s = report(rank).healthy.compute_s;
    const double healthy_s = compute_s > 0 ? compute_s : options_.healthy_iteration_s;
    if (std::ranges::find(ranks_, rank, &Component::rank) != ranks_.end()) continue;
    ranks_.push_back({.rank = rank,
                      .cause = SlowCause::cpu_contention,
                      .factor = (healthy_s + preempted_s(rank)) / healthy_s,
                      .healthy_s = healthy_s});
  }
  return true;
}

// Of all ranks alike: which is told where nothing else is suspect.
void SuspectSearch::compare_preemption() {
  std::vector<PartFigure> iterations;
  for (int rank = 0; rank < grid_.ranks(); ++rank)
    iterations.push_back({.now_s = options_.healthy_iteration_s + preempted_s(rank),
                          .healthy_s = options_.healthy_iteration_s,
                          .floor_s = kNoiseShare * options_.healthy_iteration_s});
  is_common_ |= PartComparison(std::move(iterations), options_.suspect).is_common();
}

Suspects SuspectSearch::run() {
  search_ranks();
  search_transfers(group_figures(GroupKind::tensor, reports_, grid_));
  search_transfers(group_figures(GroupKind::data, reports_, grid_));
  search_transfers(pipeline_link_figures(reports_, grid_));
  compare_preemption();
  std::ranges::sort(ranks_, {}, &Component::rank);
  Suspects suspects{.components = std::move(ranks_), .groups = std::move(groups_)};
  suspects.components.insert(suspects.components.end(), links_.begin(), links_.end());
  suspects.is_common = is_common_ && suspects.count() == 0;
  return suspects;
}

}  // namespace

Suspects find_suspects(const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid,
                       const SuspectOptions& options) {
  return SuspectSearch(reports, grid, options).run();
}

}  // namespace tenax::resilience
