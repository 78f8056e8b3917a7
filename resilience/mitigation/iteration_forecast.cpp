#include "resilience/mitigation/iteration_forecast.hpp"

#include <algorithm>
#include <limits>

#include "parallel/planner/schedule_planner.hpp"
#include "resilience/detection/sorted_values.hpp"
#include "resilience/diagnosis/part_figure.hpp"
#include "resilience/diagnosis/transfer_figures.hpp"
#include "resilience/mitigation/topology_swap.hpp"

namespace tenax::resilience {

using parallel::GroupKind;
using parallel::PipelineCosts;
using parallel::StageCosts;

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0 : lower_median_of(std::move(values));
}

double sum(const StageCosts& costs) {
  return costs.forward_s + costs.backward_input_s + costs.backward_weight_s;
}

StageCosts scaled(const StageCosts& costs, double factor) {
  return {.forward_s = factor * costs.forward_s,
          .backward_input_s = factor * costs.backward_input_s,
          .backward_weight_s = factor * costs.backward_weight_s};
}

// What a ring of `ranks` sends over an edge in a step: for one sum where that has not been counted.
double messages_of_ring(const RankReport& report, int ranks) {
  return report.now.data_messages > 0 ? report.now.data_messages : 2.0 * (ranks - 1);
}

bool is_link(const SlowPart& part, GroupKind kind) {
  return part.component.is_link() && part.component.group == kind;
}

}  // namespace

SlowPart slow_part(const Component& component, const std::vector<RankReport>& reports,
                   const parallel::ProcessGrid& grid) {
  SlowPart part{.component = component};
  if (!component.is_link()) return part;
  const PartFigure figure = figure_of(component, reports, grid);
  part.message_s = std::max(0.0, figure.now_s - figure.healthy_s);
  if (component.group == GroupKind::data)
    part.message_s /= messages_of_ring(reports[at(component.rank)], grid.shape().data);
  return part;
}

IterationForecast::IterationForecast(RunPicture picture) : picture_(std::move(picture)) {
  measure_stages();
  std::vector<SlowPart> slow;
  std::swap(slow, picture_.slow);
  const RunPlacement healthy = RunPlacement::at_launch(shape(), even());
  rest_s_ = picture_.healthy_iteration_s - iteration_s(healthy);
  std::swap(slow, picture_.slow);
}

// Of ranks at their places of then, before anything was slow; where that is not known, now.
void IterationForecast::measure_stages() {
  const parallel::ProcessGrid grid(shape(), rank_of_position(picture_.reported_places, shape().tensor), 0);
  std::vector<std::vector<double>> compute(at(shape().pipeline)), tensor = compute, data = compute;
  const auto known = [](const PartFigure& figure) {
    return figure.healthy_s > 0 ? figure.healthy_s : figure.now_s;
  };
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const RankReport& report = picture_.reports.at(at(rank));
    const double compute_s = known({.now_s = report.now.compute_s, .healthy_s = report.healthy.compute_s});
    compute[at(grid.coordinates_of(rank).pipeline)].push_back(compute_s / even());
  }
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data})
    for (const TransferFigure& figure : group_figures(kind, picture_.reports, grid))
      (kind == GroupKind::tensor ? tensor : data)[at(grid.coordinates_of(figure.ranks.front()).pipeline)]
          .push_back(known(figure.seconds) / (kind == GroupKind::tensor ? even() : 1));
  for (std::size_t stage = 0; stage < compute.size(); ++stage) {
    const double planned_s = sum(picture_.layout->costs.stages[stage]),
                 measured_s = median_or_zero(compute[stage]);
    stage_scale_.push_back(planned_s > 0 && measured_s > 0 ? measured_s / planned_s : 1);
    tensor_s_.push_back(median_or_zero(tensor[stage]));
    stage_data_s_.push_back(median_or_zero(data[stage]));
    const int first = grid.rank_of({.tensor = 0, .pipeline = static_cast<int>(stage), .data = 0});
    messages_.push_back(messages_of_ring(picture_.reports[at(first)], shape().data));
  }
}

double IterationForecast::rank_factor(int rank) const {
  double factor = 1;
  for (const SlowPart& part : picture_.slow)
    if (!part.component.is_link() && part.component.rank == rank)
      factor = std::max(factor, part.component.factor);
  return factor;
}

// All passes of a tensor group last as long as its slowest rank's.
double IterationForecast::pass_factor(int group, int stage) const {
  double factor = 1, tensor_s = tensor_s_[at(stage)];
  for (int rank = group * shape().tensor; rank < (group + 1) * shape().tensor; ++rank)
    factor = std::max(factor, rank_factor(rank));
  for (const SlowPart& part : picture_.slow)
    if (is_link(part, GroupKind::tensor) && part.component.rank / shape().tensor == group)
      tensor_s = std::max(tensor_s, tensor_s + part.message_s / even());
  const double compute_s = stage_scale_[at(stage)] * sum(picture_.layout->costs.stages[at(stage)]);
  return compute_s > 0 ? stage_scale_[at(stage)] * (factor + tensor_s / compute_s) : 1;
}

double IterationForecast::link_s(int upper, int lower) const {
  double slow_s = 0;
  for (const SlowPart& part : picture_.slow) {
    if (!is_link(part, GroupKind::data) && !is_link(part, GroupKind::pipeline)) continue;
    const int one = part.component.rank / shape().tensor, other = part.component.other / shape().tensor;
    if (std::minmax(one, other) == std::minmax(upper, lower)) slow_s = std::max(slow_s, part.message_s);
  }
  return slow_s;
}

PipelineCosts IterationForecast::costs(std::span<const int> groups) const {
  PipelineCosts costs = picture_.layout->costs;
  costs.stages.clear();
  for (int stage = 0; stage < shape().pipeline; ++stage)
    costs.stages.push_back(
        scaled(picture_.layout->costs.stages[at(stage)], pass_factor(groups[at(stage)], stage)));
  costs.link_delay_s.resize(at(shape().pipeline - 1), 0);
  for (int stage = 0; stage + 1 < shape().pipeline; ++stage)
    costs.link_delay_s[at(stage)] += link_s(groups[at(stage)], groups[at(stage + 1)]);
  return costs;
}

double IterationForecast::pipeline_s(std::span<const int> groups, int microbatches) {
  const PipelineCosts costs = this->costs(groups);
  std::vector<double> key = costs.link_delay_s;
  for (const StageCosts& stage : costs.stages) key.push_back(sum(stage));
  const auto [known, is_new] = known_.try_emplace({std::move(key), microbatches});
  if (!is_new) return known->second;
  const parallel::Layout& layout = *picture_.layout;
  known->second = simulate(plan_schedule(layout, microbatches), costs, picture_.transfers).makespan_s;
  const bool waits =
      std::any_of(costs.link_delay_s.begin(), costs.link_delay_s.end(), [](double s) { return s > 0; });
  if (layout.policy->follows_delays && waits) {
    const parallel::Plan plan = parallel::plan_adaptive(
        {.microbatches = microbatches, .costs = costs, .limit = layout.limit, .budget = {}});
    known->second = std::min(known->second, simulate(plan.schedule, costs, picture_.transfers).makespan_s);
  }
  return known->second;
}

// A collective that goes round no ring has a link between any two.
bool IterationForecast::uses(const SlowPart& link, int stage, std::span<const int> groups,
                             const RunPlacement& placement) const {
  if (!is_link(link, GroupKind::data) && !is_link(link, GroupKind::pipeline)) return false;
  const int lane = link.component.rank % shape().tensor;
  const auto order = placement.ring_order.find({.tensor = lane, .stage = stage});
  const auto place_of = [&](int rank) -> std::ptrdiff_t {
    const auto group = std::find(groups.begin(), groups.end(), rank / shape().tensor);
    if (group == groups.end()) return -1;
    const std::ptrdiff_t data = group - groups.begin();
    if (order == placement.ring_order.end()) return data;
    return std::find(order->second.begin(), order->second.end(), static_cast<int>(data)) -
           order->second.begin();
  };
  const std::ptrdiff_t one = place_of(link.component.rank), other = place_of(link.component.other);
  if (one < 0 || other < 0) return false;
  const std::ptrdiff_t apart = std::abs(one - other);
  return !picture_.has_rings || apart == 1 || apart + 1 == shape().data;
}

double IterationForecast::data_s(int stage, std::span<const int> groups,
                                 const RunPlacement& placement) const {
  double slow_s = 0;
  for (const SlowPart& part : picture_.slow)
    if (uses(part, stage, groups, placement))
      slow_s = std::max(slow_s, messages_[at(stage)] * part.message_s);
  return stage_data_s_[at(stage)] + slow_s;
}

double IterationForecast::iteration_s(const RunPlacement& placement) {
  double pipelines_s = 0, data_groups_s = 0;
  for (int data = 0; data < shape().data; ++data) {
    Groups groups;
    for (int stage = 0; stage < shape().pipeline; ++stage)
      groups.push_back(placement.group_of_place[at(data + shape().data * stage)]);
    pipelines_s = std::max(pipelines_s, pipeline_s(groups, placement.microbatches[at(data)]));
  }
  for (int stage = 0; stage < shape().pipeline && shape().data > 1; ++stage) {
    const auto first = placement.group_of_place.begin() + shape().data * stage;
    const Groups groups(first, first + shape().data);
    data_groups_s = std::max(data_groups_s, data_s(stage, groups, placement));
  }
  return pipelines_s + data_groups_s + rest_s_;
}

// Pipelines of the same costs are of one kind. More than `most` microbatches have no memory.
MicrobatchShares IterationForecast::shares(int most) {
  std::map<std::vector<double>, int> kind_of_costs;
  std::vector<PipelineTime> kinds;
  std::vector<int> kind_of_group;
  for (int data = 0; data < shape().data; ++data) {
    Groups groups;
    for (int stage = 0; stage < shape().pipeline; ++stage)
      groups.push_back(picture_.placement.group_of_place[at(data + shape().data * stage)]);
    const PipelineCosts costs = this->costs(groups);
    std::vector<double> key = costs.link_delay_s;
    for (const StageCosts& stage : costs.stages) key.push_back(sum(stage));
    const auto [kind, is_new] = kind_of_costs.try_emplace(key, static_cast<int>(kinds.size()));
    kind_of_group.push_back(kind->second);
    if (is_new)
      kinds.push_back([this, groups, most](int microbatches) {
        return microbatches > most ? std::numeric_limits<double>::max() : pipeline_s(groups, microbatches);
      });
  }
  return share_microbatches(kinds, kind_of_group, even() * shape().data);
}

GridTimes IterationForecast::grid_times() {
  return {.pipeline_s = [this](std::span<const int> groups) { return pipeline_s(groups, even()); },
          .data_s =
              [this](int stage, std::span<const int> groups) {
                return shape().data > 1 ? data_s(stage, groups, {}) : 0.0;
              },
          .optimizer_s = rest_s_};
}

}  // namespace tenax::resilience
