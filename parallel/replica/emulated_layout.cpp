#include "parallel/replica/emulated_layout.hpp"

namespace tenax::parallel {
namespace {

/// None where no stage is asked to keep one: memory is no concern.
ActivationLimit emulated_limit(const LayoutRequest& request) {
  ActivationLimit limit;
  bool is_asked = false;
  for (int s = 0; s < request.grid.pipeline; ++s) {
    const std::optional<int> asked = request.asked_limit(static_cast<std::size_t>(s));
    is_asked = is_asked || asked;
    limit.microbatches_of_stage.push_back(asked.value_or(request.microbatches));
  }
  return is_asked ? limit : ActivationLimit{};
}

}  // namespace

Layout plan_emulated_layout(const LayoutRequest& request) {
  const EmulatedLoad& load = *request.emulated;
  Layout layout = begin_layout(request);
  layout.has_data = false;
  layout.costs = load.costs;
  layout.limit = emulated_limit(request);
  layout.schedule = plan_schedule(*request.policy, request.microbatches, layout.costs, layout.limit);
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
    layout.traffic_of_stage.push_back({.tensor = 0,
                                       .pipeline = request.microbatches * neighbours * activation_bytes,
                                       .data = 2 * static_cast<double>(load.gradient_bytes) * (d - 1) / d});
  }
  return layout;
}

}  // namespace tenax::parallel
