#include "resilience/diagnosis/healthy_stages.hpp"

#include "resilience/detection/sorted_values.hpp"
#include "resilience/diagnosis/transfer_figures.hpp"

namespace tenax::resilience {

using parallel::ProcessGrid;

namespace {

using ValuesOfStage = std::map<int, std::vector<double>>;

void take_medians(ValuesOfStage values_of_stage, std::map<int, double>& medians) {
  for (auto& [stage, values] : values_of_stage) medians[stage] = lower_median_of(std::move(values));
}

double value_or_zero(const std::map<int, double>& value_of_stage, int stage) {
  const auto found = value_of_stage.find(stage);
  return found == value_of_stage.end() ? 0 : found->second;
}

}  // namespace

void HealthyStages::learn(const std::vector<RankReport>& reports, const ProcessGrid& grid) {
  ValuesOfStage compute_s, tensor_s;
  for (int rank = 0; rank < grid.ranks(); ++rank)
    if (const double healthy_s = reports[static_cast<std::size_t>(rank)].healthy.compute_s; healthy_s > 0)
      compute_s[grid.coordinates_of(rank).pipeline].push_back(healthy_s);
  for (const TransferFigure& group : group_figures(parallel::GroupKind::tensor, reports, grid))
    if (group.seconds.healthy_s > 0)
      tensor_s[grid.coordinates_of(group.ranks.front()).pipeline].push_back(group.seconds.healthy_s);
  take_medians(std::move(compute_s), compute_s_);
  take_medians(std::move(tensor_s), tensor_s_);
}

void HealthyStages::complete(std::vector<RankReport>& reports, const ProcessGrid& grid) const {
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    RankFigures& healthy = reports[static_cast<std::size_t>(rank)].healthy;
    if (healthy.compute_s > 0) continue;
    const int stage = grid.coordinates_of(rank).pipeline;
    healthy.compute_s = value_or_zero(compute_s_, stage);
    healthy.tensor_s = value_or_zero(tensor_s_, stage);
  }
}

}  // namespace tenax::resilience
