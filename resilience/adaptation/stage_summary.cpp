#include "resilience/adaptation/stage_summary.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

static_assert(std::is_trivially_copyable_v<StageSummary>);

void take_slower(StageMeasurement& slowest, const StageMeasurement& other) {
  slowest.forward_s = std::max(slowest.forward_s, other.forward_s);
  slowest.backward_input_s = std::max(slowest.backward_input_s, other.backward_input_s);
  slowest.backward_weight_s = std::max(slowest.backward_weight_s, other.backward_weight_s);
  slowest.stall_s = std::max(slowest.stall_s, other.stall_s);
}

/// An estimate beats a bound, a longer delay a shorter one.
void take_slower(LinkMeasurement& slowest, const LinkMeasurement& other) {
  if (other.samples == 0) return;
  const bool replaces = slowest.samples == 0 || (slowest.at_most && !other.at_most) ||
                        (slowest.at_most && other.delay_s > slowest.delay_s) ||
                        (!other.at_most && other.at_least_s() > slowest.at_least_s());
  if (replaces) slowest = other;
}

/// First start to last end of one lane, all times on the clock of its first stage.
double lane_duration_s(const std::map<int, const StageSummary*>& stages) {
  double first_s = std::numeric_limits<double>::infinity(), last_s = -first_s, to_first_stage_s = 0;
  for (const auto& [stage, summary] : stages) {
    to_first_stage_s += summary->upstream_offset_s;
    if (summary->last_end_s <= summary->first_start_s) continue;
    first_s = std::min(first_s, summary->first_start_s + to_first_stage_s);
    last_s = std::max(last_s, summary->last_end_s + to_first_stage_s);
  }
  return std::max(0.0, last_s - first_s);
}

}  // namespace

std::string to_bytes(const StageSummary& summary) {
  return {reinterpret_cast<const char*>(&summary), sizeof summary};
}

StageSummary summary_of_bytes(const std::string& bytes) {
  StageSummary summary;
  if (bytes.size() != sizeof summary)
    throw kernels::Error(kernels::Scope::replica,
                         "measuring the pipeline: a rank sent " + std::to_string(bytes.size()) +
                             " bytes instead of a summary of " + std::to_string(sizeof summary) +
                             ": do all ranks run the same build?");
  std::memcpy(&summary, bytes.data(), sizeof summary);
  return summary;
}

PipelineMeasurement combine(std::span<const StageSummary> summaries) {
  std::map<int, std::map<int, const StageSummary*>> stages_of_lane;
  for (const StageSummary& summary : summaries) stages_of_lane[summary.lane][summary.stage] = &summary;
  assert(!stages_of_lane.empty());
  const std::size_t stages = stages_of_lane.begin()->second.size();
  PipelineMeasurement all{.stages = std::vector<StageMeasurement>(stages),
                          .down = std::vector<LinkMeasurement>(stages - 1),
                          .up = std::vector<LinkMeasurement>(stages - 1)};
  for (const auto& [lane, of_stage] : stages_of_lane) {
    assert(of_stage.size() == stages && of_stage.rbegin()->first == static_cast<int>(stages) - 1);
    for (const auto& [number, summary] : of_stage) {
      const auto stage = static_cast<std::size_t>(number);
      take_slower(all.stages[stage], summary->passes);
      if (stage > 0) take_slower(all.down[stage - 1], summary->activations);
      if (stage + 1 < stages) take_slower(all.up[stage], summary->gradients);
    }
    all.iteration_s = std::max(all.iteration_s, lane_duration_s(of_stage));
  }
  return all;
}

}  // namespace tenax::resilience
