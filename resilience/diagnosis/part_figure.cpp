#include "resilience/diagnosis/part_figure.hpp"

#include <algorithm>
#include <utility>

#include "resilience/diagnosis/transfer_figures.hpp"

namespace tenax::resilience {

using parallel::GroupKind;

namespace {

double usual_compute_s(const RankReport& report) {
  return report.healthy.compute_s > 0 ? report.healthy.compute_s : report.now.compute_s;
}

// What the others of its stage take, the lower median; 0 where it has none.
double peers_compute_s(int rank, const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid) {
  std::vector<double> seconds;
  for (int other = 0; other < grid.ranks(); ++other)
    if (other != rank && grid.coordinates_of(other).pipeline == grid.coordinates_of(rank).pipeline)
      seconds.push_back(usual_compute_s(reports[static_cast<std::size_t>(other)]));
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// Contention that was found in a group's transfers may leave computing as it was (find_suspects).
PartFigure figure_of_rank(const Component& rank, const RankReport& report) {
  PartFigure figure{.now_s = report.now.compute_s, .healthy_s = report.healthy.compute_s};
  if (rank.cause == SlowCause::cpu_contention)
    figure.now_s =
        std::max(figure.now_s, figure.healthy_s + report.now.preempted_s - report.healthy.preempted_s);
  return figure;
}

}  // namespace

PartFigure figure_of(const Component& component, const std::vector<RankReport>& reports,
                     const parallel::ProcessGrid& grid, double iteration_s) {
  if (!component.is_link()) {
    PartFigure figure = figure_of_rank(component, reports[static_cast<std::size_t>(component.rank)]);
    figure.floor_s = kNoiseShare * iteration_s;
    if (figure.healthy_s <= 0) figure.healthy_s = peers_compute_s(component.rank, reports, grid);
    return figure;
  }
  const bool is_of_pipeline = component.group == GroupKind::pipeline;
  auto figures =
      is_of_pipeline ? pipeline_link_figures(reports, grid) : group_figures(component.group, reports, grid);
  const auto joins = [&](const TransferFigure& figure) {
    const auto has = [&](int rank) {
      return std::find(figure.ranks.begin(), figure.ranks.end(), rank) != figure.ranks.end();
    };
    return has(component.rank) && has(component.other);
  };
  const auto found = std::find_if(figures.begin(), figures.end(), joins);
  if (found == figures.end()) return {};
  found->seconds.floor_s = noise_of_transfer_s(*found, reports, iteration_s);
  return found->seconds;
}

double shared_growth_of_ranks(const std::vector<RankReport>& reports) {
  std::vector<PartFigure> ranks;
  for (const RankReport& report : reports)
    ranks.push_back({.now_s = report.now.compute_s, .healthy_s = report.healthy.compute_s});
  constexpr double kAnySuspect = 1;  // none is asked for
  return PartComparison(std::move(ranks), kAnySuspect).shared_growth();
}

}  // namespace tenax::resilience
