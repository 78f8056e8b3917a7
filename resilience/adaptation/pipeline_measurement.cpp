#include "resilience/adaptation/pipeline_measurement.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

static_assert(std::is_trivially_copyable_v<StageMeasurement>);

/// Lanes end their passes together, in collectives. Who begins first waits there for one whose message is late: what its pass
/// takes beyond the shortest is that message's delay, which the late lane's link tells.
void take_shorter(PassMeasurement& shortest, const PassMeasurement& other) {
  shortest.forward_s = std::min(shortest.forward_s, other.forward_s);
  shortest.backward_input_s = std::min(shortest.backward_input_s, other.backward_input_s);
  shortest.backward_weight_s = std::min(shortest.backward_weight_s, other.backward_weight_s);
  shortest.stall_s = std::min(shortest.stall_s, other.stall_s);
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
double lane_duration_s(const std::map<int, const StageMeasurement*>& stages) {
  double first_s = std::numeric_limits<double>::infinity(), last_s = -first_s, to_first_stage_s = 0;
  for (const auto& [stage, measured] : stages) {
    to_first_stage_s += measured->upstream_offset_s;
    if (measured->last_end_s <= measured->first_start_s) continue;
    first_s = std::min(first_s, measured->first_start_s + to_first_stage_s);
    last_s = std::max(last_s, measured->last_end_s + to_first_stage_s);
  }
  return std::max(0.0, last_s - first_s);
}

}  // namespace

std::string to_bytes(const StageMeasurement& stage) {
  return {reinterpret_cast<const char*>(&stage), sizeof stage};
}

StageMeasurement stage_of_bytes(const std::string& bytes) {
  StageMeasurement stage;
  if (bytes.size() != sizeof stage)
    throw kernels::Error(kernels::Scope::replica,
                         "measuring the pipeline: a rank sent " + std::to_string(bytes.size()) +
                             " bytes instead of a summary of " + std::to_string(sizeof stage) +
                             ": do all ranks run the same build?");
  std::memcpy(&stage, bytes.data(), sizeof stage);
  return stage;
}

PipelineMeasurement combine(std::span<const StageMeasurement> of_ranks) {
  std::map<int, std::map<int, const StageMeasurement*>> stages_of_lane;
  for (const StageMeasurement& measured : of_ranks) stages_of_lane[measured.lane][measured.stage] = &measured;
  assert(!stages_of_lane.empty());
  const std::size_t stages = stages_of_lane.begin()->second.size();
  PipelineMeasurement all{.stages = std::vector<StageMeasurement>(stages)};
  for (const auto& [lane, of_stage] : stages_of_lane) {
    assert(of_stage.size() == stages && of_stage.rbegin()->first == static_cast<int>(stages) - 1);
    for (const auto& [number, measured] : of_stage) {
      const auto index = static_cast<std::size_t>(number);
      StageMeasurement& slowest = all.stages[index];
      slowest.stage = number;
      if (lane == stages_of_lane.begin()->first)
        slowest.passes = measured->passes;
      else
        take_shorter(slowest.passes, measured->passes);
      if (index > 0) take_slower(slowest.activations, measured->activations);
      if (index + 1 < stages) take_slower(slowest.gradients, measured->gradients);
    }
    all.iteration_s = std::max(all.iteration_s, lane_duration_s(of_stage));
  }
  return all;
}

}  // namespace tenax::resilience
