#include "parallel/replica/layout.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/error.hpp"
#include "parallel/layout/stage_partition.hpp"
#include "parallel/planner/baselines.hpp"
#include "parallel/replica/paper_group.hpp"
#include "parallel/replica/stage_needs.hpp"

namespace tenax::parallel {

using kernels::DType;

namespace {

/// One computes, one comes or goes.
constexpr int kLeastBodies = 2;

// A ring sends what a rank owns but for its own share once for the sums, and once more for everybody to have them.
double replica_traffic(const LayoutRequest& request, double owned_elements) {
  const double r = request.replicas;
  return owned_elements * static_cast<double>(request.gradient_wire_bytes) * 2 * (r - 1) / r;
}

// Megatron's count: one rank's bytes sent in a step.
StepTraffic stage_traffic(const LayoutRequest& request, const Layout& layout, const model::StageSpan& span,
                          const ShardMap& shards) {
  const model::GptConfig& c = layout.config;
  const double activation = static_cast<double>(layout.microbatch.rows() * c.hidden_size) *
                            static_cast<double>(bytes_of(c.compute_dtype));
  const auto blocks = static_cast<double>(span.end_layer - span.first_layer);
  const double t = layout.grid.tensor, d = layout.grid.data, n = request.microbatches;
  const double all_reduces = 4 * blocks + (span.has_embedding ? 1 : 0) + (span.has_head ? 1 : 0);
  StepTraffic traffic;
  traffic.tensor = n * all_reduces * activation * 2 * (t - 1) / t;
  traffic.pipeline = n * activation * ((span.has_head ? 0 : 1) + (span.has_embedding ? 0 : 1));
  const auto whole = static_cast<double>(shards.padded_size());
  const auto sum_bytes = static_cast<double>(bytes_of(kernels::accumulation_of(c.compute_dtype)));
  traffic.data = whole * (sum_bytes + static_cast<double>(bytes_of(c.compute_dtype))) * (d - 1) / d;
  traffic.replica = replica_traffic(request, whole / d);
  return traffic;
}

// How many of its microbatches a stage may hold where nobody asks for a number and memory has room for `fits`.
int limit_of_memory(const LayoutRequest& request, std::int64_t fits) {
  const std::int64_t useful = request.policy->useful_live(fits, request.grid.pipeline, request.most());
  return static_cast<int>(std::clamp<std::int64_t>(fits, 1, useful));
}

// What does not fit into a room that is not firm is planned all the same.
std::int64_t most_slots(const LayoutRequest& request, const SlotRoom& room) {
  const bool takes_what_it_needs = !room.is_firm && !request.policy->keeps_any_limit;
  return takes_what_it_needs ? request.most() : room.most();
}

ActivationLimit activation_limit(const LayoutRequest& request, const Layout& layout, bool with_host) {
  ActivationLimit limit;
  for (std::size_t s = 0; s < layout.spans.size(); ++s) {
    SlotRoom room = layout.slot_room_of_stage[s];
    if (!with_host) room.host_bytes = 0;
    limit.microbatches_of_stage.push_back(
        request.asked_limit(s).value_or(limit_of_memory(request, most_slots(request, room))));
  }
  return limit;
}

const SchedulePolicy& policy_within(const Layout& layout) {
  const bool is_fused = layout.grid.pipeline == 1 && layout.never_splits_backward();
  return is_fused ? policy_of_name("1f1b") : *layout.policy;
}

// Where the limit that was asked for forbids what a policy holds, the request is wrong; where this machine's memory does, the
// machine is.
PipelineSchedule plan_within(const LayoutRequest& request, const Layout& layout, int microbatches,
                             const ActivationLimit& limit) {
  try {
    return plan_schedule(policy_within(layout), microbatches, layout.costs, limit);
  } catch (const kernels::Error& error) {
    std::string text = error.what();
    if (microbatches > request.microbatches)
      text += " (in a step of " + std::to_string(microbatches) +
              " microbatches a pipeline, once other replicas are lost)";
    if (!request.activation_limit.empty()) throw kernels::Error(error.scope(), text);
    throw kernels::Error(kernels::Scope::rank, text + " (what this machine's memory holds)");
  }
}

// Of the step with the most microbatches, which may become fewer than were asked for.
PipelineSchedule plan_longest(const LayoutRequest& request, Layout& layout) {
  for (int& most = layout.most_microbatches; most > request.microbatches; --most) try {
      return plan_within(request, layout, most, layout.limit);
    } catch (const kernels::Error&) {
      if (!request.may_have_fewer) throw;
    }
  return layout.schedule;
}

// Within the device if that holds a whole warm-up, else with the host's help.
PipelineSchedule plan_healthy(const LayoutRequest& request, const Layout& layout) {
  const auto on_device = activation_limit(request, layout, false);
  const int warmup = zero_bubble_warmup(request.grid.pipeline, request.microbatches);
  const auto& most = on_device.microbatches_of_stage;
  const bool suffices = std::all_of(most.begin(), most.end(), [&](int slots) { return slots >= warmup; });
  return plan_within(request, layout, request.microbatches, suffices ? on_device : layout.limit);
}

/// None where no stage is asked to keep one: memory is no concern.
ActivationLimit emulated_limit(const LayoutRequest& request) {
  ActivationLimit limit;
  bool is_asked = false;
  for (int s = 0; s < request.grid.pipeline; ++s) {
    const std::optional<int> asked = request.asked_limit(static_cast<std::size_t>(s));
    is_asked = is_asked || asked;
    limit.microbatches_of_stage.push_back(asked.value_or(request.most()));
  }
  return is_asked ? limit : ActivationLimit{};
}

// Times and sizes are given.
Layout plan_emulated_layout(const LayoutRequest& request) {
  const EmulatedLoad& load = *request.emulated;
  Layout layout = begin_layout(request, {});
  layout.has_data = false;
  layout.costs = load.costs;
  layout.limit = emulated_limit(request);
  layout.schedule = plan_schedule(*request.policy, request.microbatches, layout.costs, layout.limit);
  plan_longest(request, layout);
  const std::int64_t stages = layout.grid.pipeline, layers = layout.config.num_layers;
  const double d = layout.grid.data, activation_bytes = static_cast<double>(load.activation_bytes);
  for (std::int64_t s = 0; s < stages; ++s) {
    layout.spans.push_back({layers * s / stages, layers * (s + 1) / stages, s == 0, s + 1 == stages});
    layout.parameters_of_stage.push_back(0);
    RankMemory memory;
    memory.slots = peak_slots(layout.schedule, static_cast<int>(s));
    memory.activations = load.activation_bytes * static_cast<std::size_t>(memory.slots);
    layout.memory_of_stage.push_back(memory);
    const double neighbours = (s > 0 ? 1 : 0) + (s + 1 < stages ? 1 : 0);
    const auto gradient_bytes = static_cast<double>(load.gradient_bytes);
    layout.traffic_of_stage.push_back(
        {.tensor = 0,
         .pipeline = request.microbatches * neighbours * activation_bytes,
         .data = 2 * gradient_bytes * (d - 1) / d,
         .replica = replica_traffic(request, gradient_bytes / sizeof(float) / d)});
  }
  return layout;
}

}  // namespace

Layout begin_layout(const LayoutRequest& request, const ComputeHabits& habits) {
  Layout layout;
  layout.config = request.model;
  layout.config.logit_rows = habits.logit_rows;
  layout.fuses_backward = habits.fuses_backward;
  layout.optimizer = request.optimizer;
  layout.policy = request.policy;
  layout.grid = request.grid;
  layout.microbatch = request.microbatch;
  layout.most_microbatches = request.most();
  layout.fails_over = request.fails_over;
  layout.has_peers = request.has_peers;
  layout.offloads_optimizer = request.offloads_optimizer;
  return layout;
}

SumMemory sum_memory_of(const Layout& layout) {
  return layout.has_peers ? SumMemory::apart : SumMemory::in_place;
}

OptimizerHome optimizer_home_of(const Layout& layout) {
  return layout.offloads_optimizer ? OptimizerHome::host : OptimizerHome::device;
}

PipelineSchedule plan_schedule(const Layout& layout, int microbatches) {
  assert(microbatches >= 1 && microbatches <= layout.most_microbatches);
  if (microbatches == layout.schedule.microbatches()) return layout.schedule;
  return plan_schedule(policy_within(layout), microbatches, layout.costs, layout.limit);
}

std::optional<int> LayoutRequest::asked_limit(std::size_t stage) const {
  const auto& given = activation_limit;
  const std::int64_t asked = given.empty() ? 0 : given[given.size() == 1 ? 0 : stage];
  if (asked == 0) return {};
  return static_cast<int>(std::min<std::int64_t>(asked, most()));
}

int SlotRoom::on_device(int slots) const {
  const auto all = static_cast<std::size_t>(slots);
  if (host_bytes == 0 || all * slot_bytes <= device_bytes) return slots;
  const std::size_t boundaries = all * boundary_bytes;
  const std::size_t bodies = device_bytes > boundaries ? (device_bytes - boundaries) / slot_bytes : 0;
  return std::min(slots, std::max(static_cast<int>(bodies), kLeastBodies));
}

std::int64_t SlotRoom::most() const {
  const std::size_t fits = device_bytes / slot_bytes;
  const std::size_t bodies = kLeastBodies * slot_bytes;
  if (host_bytes == 0 || device_bytes < bodies) return static_cast<std::int64_t>(fits);
  const std::size_t with_boundaries = boundary_bytes > 0 ? (device_bytes - bodies) / boundary_bytes : fits;
  return static_cast<std::int64_t>(std::max(fits, std::min(fits + host_bytes / slot_bytes, with_boundaries)));
}

Layout plan_layout(const LayoutRequest& request, double flop_per_second, const MemoryRoom& room) {
  if (request.emulated) return plan_emulated_layout(request);
  Layout layout = begin_layout(request, room.habits);
  const LayerCosts costs = estimate_layer_costs(layout.config, static_cast<double>(layout.microbatch.rows()),
                                                layout.grid.tensor, flop_per_second);
  layout.spans = partition_stages(layout.config, layout.grid.pipeline, costs);
  layout.costs = pipeline_costs(layout.spans, costs);

  const auto device = kernels::create_cpu_device();
  const auto stream = device->create_stream();
  PaperGroup tensor_group(layout.grid.tensor);
  std::vector<StageNeeds> needs;
  for (const model::StageSpan& span : layout.spans) {
    const model::GptStage stage(layout.config, span, tensor_group, *device, *stream);
    const ShardMap shards =
        TrainingState::plan_shards(stage.parameters(), layout.config.compute_dtype, layout.grid.data);
    std::int64_t parameters = 0;
    for (const model::ParameterRow& row : stage.parameters().rows()) parameters += row.size();
    layout.parameters_of_stage.push_back(parameters);
    needs.push_back(stage_needs(layout, span, shards, room));
    layout.slot_room_of_stage.push_back(slot_room(layout, needs.back(), room));
    layout.traffic_of_stage.push_back(stage_traffic(request, layout, span, shards));
  }
  layout.limit = activation_limit(request, layout, true);
  layout.schedule = plan_healthy(request, layout);
  const PipelineSchedule longest = plan_longest(request, layout);
  for (std::size_t s = 0; s < layout.spans.size(); ++s) {
    const int stage = static_cast<int>(s);
    const int peak = std::max(peak_slots(layout.schedule, stage), peak_slots(longest, stage));
    const int slots = layout.slot_room_of_stage[s].slots_for(peak);
    layout.memory_of_stage.push_back(rank_memory(layout.slot_room_of_stage[s], needs[s], slots));
    layout.memory_of_stage.back().scratch += kept_bytes(layout, static_cast<int>(s));
    if (room.host > 0) check_device(layout, stage, room.device);
  }
  return layout;
}

}  // namespace tenax::parallel
