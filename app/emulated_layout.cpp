#include "app/emulated_layout.hpp"

#include "parallel/schedule_policies.hpp"

namespace tenax::app {

namespace {

constexpr double kSecondsPerMs = 1e-3;

double of_stage(const std::vector<double>& values, std::size_t stage) {
  if (values.empty()) return 0;
  return values[values.size() == 1 ? 0 : stage] * kSecondsPerMs;
}

parallel::PipelineCosts emulated_costs(const io::Deck& deck) {
  const io::DeviceSection& device = deck.device;
  parallel::PipelineCosts costs;
  const auto stages = static_cast<std::size_t>(deck.parallel.pipeline_parallel_size);
  for (std::size_t s = 0; s < stages; ++s)
    costs.stages.push_back({of_stage(device.forward_ms, s), of_stage(device.backward_input_ms, s),
                            of_stage(device.backward_weight_ms, s)});
  if (device.link_gbps > 0 && stages > 1)
    costs.link_delay_s.assign(stages - 1,
                              static_cast<double>(device.activation_bytes) * 8 / (device.link_gbps * 1e9));
  return costs;
}

parallel::ActivationLimit emulated_limit(const io::Deck& deck, int microbatches) {
  const auto& given = deck.pipeline.activation_limit;
  parallel::ActivationLimit limit;
  if (given.empty() || (given.size() == 1 && given.front() == 0)) return limit;
  for (std::int64_t s = 0; s < deck.parallel.pipeline_parallel_size; ++s) {
    const std::int64_t asked = given[given.size() == 1 ? 0 : static_cast<std::size_t>(s)];
    limit.microbatches_of_stage.push_back(
        asked > 0 ? static_cast<int>(std::min<std::int64_t>(asked, microbatches)) : microbatches);
  }
  return limit;
}

}  // namespace

Layout plan_emulated_layout(const io::Deck& deck) {
  Layout layout = begin_layout(deck);
  layout.has_data = false;
  layout.costs = emulated_costs(deck);
  layout.limit = emulated_limit(deck, layout.microbatches);
  layout.schedule = parallel::plan_schedule(parallel::policy_of_name(deck.pipeline.schedule),
                                            layout.microbatches, layout.costs, layout.limit);
  const std::int64_t stages = layout.grid.pipeline, layers = layout.config.num_layers;
  for (std::int64_t s = 0; s < stages; ++s) {
    layout.spans.push_back({layers * s / stages, layers * (s + 1) / stages, s == 0, s + 1 == stages});
    layout.parameters_of_stage.push_back(0);
    RankMemory memory;
    memory.slots = parallel::peak_slots(layout.schedule, static_cast<int>(s));
    memory.activations =
        static_cast<std::size_t>(deck.device.activation_bytes) * static_cast<std::size_t>(memory.slots);
    layout.memory_of_stage.push_back(memory);
    const double d = layout.grid.data, neighbours = (s > 0 ? 1 : 0) + (s + 1 < stages ? 1 : 0);
    layout.traffic_of_stage.push_back(
        {0, layout.microbatches * neighbours * static_cast<double>(deck.device.activation_bytes),
         2 * static_cast<double>(deck.device.gradient_bytes) * (d - 1) / d});
  }
  return layout;
}

}  // namespace tenax::app
