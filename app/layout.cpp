#include "app/layout.hpp"

#include <algorithm>

#include "app/emulated_layout.hpp"
#include "app/stage_needs.hpp"
#include "kernels/error.hpp"
#include "parallel/schedule_policies.hpp"
#include "parallel/stage_partition.hpp"

namespace tenax::app {

using kernels::DType;

namespace {

// A tensor group on paper: a stage's parameters follow from its size and this rank alone.
class PaperGroup : public comm::Communicator {
 public:
  explicit PaperGroup(int size) : size_(size) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  const std::string& name() const override { return name_; }
  void all_reduce(kernels::Stream&, const kernels::Tensor&, comm::ReduceOp) override { assert(!"on paper"); }
  comm::TransferPtr start_reduce_scatter(kernels::Stream&, const kernels::Tensor&) override { return {}; }
  comm::TransferPtr start_all_gather(kernels::Stream&, const kernels::Tensor&) override { return {}; }

 private:
  std::string name_ = "paper";
  int size_;
};

// Megatron's count: one rank's bytes sent in a step.
StepTraffic stage_traffic(const Layout& layout, const model::StageSpan& span,
                          const parallel::ShardMap& shards) {
  const model::GptConfig& c = layout.config;
  const double activation = static_cast<double>(layout.microbatch.rows() * c.hidden_size) *
                            static_cast<double>(bytes_of(c.compute_dtype));
  const auto blocks = static_cast<double>(span.end_layer - span.first_layer);
  const double t = layout.grid.tensor, d = layout.grid.data, n = layout.microbatches;
  const double all_reduces = 4 * blocks + (span.has_embedding ? 1 : 0) + (span.has_head ? 1 : 0);
  StepTraffic traffic;
  traffic.tensor = n * all_reduces * activation * 2 * (t - 1) / t;
  traffic.pipeline = n * activation * ((span.has_head ? 0 : 1) + (span.has_embedding ? 0 : 1));
  const auto whole = static_cast<double>(shards.padded_size());
  const auto sum_bytes = static_cast<double>(bytes_of(kernels::accumulation_of(c.compute_dtype)));
  traffic.data = whole * (sum_bytes + static_cast<double>(bytes_of(c.compute_dtype))) * (d - 1) / d;
  return traffic;
}

// How many of its microbatches a stage may hold when the deck leaves that to memory, which has room for `fits`.
int limit_of_memory(const std::string& schedule, std::int64_t fits, std::int64_t stages,
                    std::int64_t microbatches) {
  // What zero_bubble's warm-up uses; beyond it would only defer weight passes.
  const std::int64_t warmup = std::min(2 * stages - 1, microbatches);
  std::int64_t limit = microbatches;
  if (schedule == "zero_bubble") limit = warmup;
  // The slack for delays that have not happened yet takes half of what is left.
  if (schedule == "adaptive") limit = stages == 1 ? 1 : std::clamp((fits + warmup) / 2, warmup, microbatches);
  return static_cast<int>(std::clamp<std::int64_t>(fits, 1, limit));
}

// gpipe and 1f1b hold what they hold, whatever the room.
std::int64_t most_slots(const std::string& schedule, const SlotRoom& room, std::int64_t microbatches) {
  const bool takes_what_it_needs = !room.is_firm && (schedule == "gpipe" || schedule == "1f1b");
  return takes_what_it_needs ? microbatches : room.most();
}

parallel::ActivationLimit activation_limit(const io::Deck& deck, const Layout& layout, bool with_host) {
  const auto& given = deck.pipeline.activation_limit;
  parallel::ActivationLimit limit;
  for (std::size_t s = 0; s < layout.spans.size(); ++s) {
    const std::int64_t asked = given.empty() ? 0 : given[given.size() == 1 ? 0 : s];
    SlotRoom room = layout.slot_room_of_stage[s];
    if (!with_host) room.host_bytes = 0;
    limit.microbatches_of_stage.push_back(
        asked > 0 ? static_cast<int>(std::min<std::int64_t>(asked, layout.microbatches))
                  : limit_of_memory(deck.pipeline.schedule,
                                    most_slots(deck.pipeline.schedule, room, layout.microbatches),
                                    layout.grid.pipeline, layout.microbatches));
  }
  return limit;
}

// Where the deck's own limit forbids what gpipe or 1f1b hold, the deck is wrong; where this machine's memory does, the
// machine is.
parallel::PipelineSchedule plan_within(const io::Deck& deck, const Layout& layout,
                                       const parallel::ActivationLimit& limit) {
  // What recomputes runs both parts of a backward pass together; alone, a stage has no reason to split them.
  const auto policy = layout.config.recomputes && layout.grid.pipeline == 1
                          ? parallel::SchedulePolicy::one_f_one_b
                          : parallel::policy_of_name(deck.pipeline.schedule);
  try {
    return parallel::plan_schedule(policy, layout.microbatches, layout.costs, limit);
  } catch (const kernels::Error& error) {
    if (!deck.pipeline.activation_limit.empty()) throw;
    throw kernels::Error(kernels::Scope::rank,
                         std::string(error.what()) + " (what this machine's memory holds)");
  }
}

// Within the device if that holds a whole warm-up, else with the host's help.
parallel::PipelineSchedule plan_healthy(const io::Deck& deck, const Layout& layout) {
  const auto on_device = activation_limit(deck, layout, false);
  const int warmup = std::min(2 * layout.grid.pipeline - 1, layout.microbatches);
  const auto& most = on_device.microbatches_of_stage;
  const bool suffices = std::all_of(most.begin(), most.end(), [&](int slots) { return slots >= warmup; });
  return plan_within(deck, layout, suffices ? on_device : layout.limit);
}

}  // namespace

model::GptConfig gpt_config(const io::ModelSection& section) {
  return {section.num_layers,
          section.hidden_size,
          section.num_attention_heads,
          section.ffn_hidden_size,
          section.seq_length,
          section.vocab_size,
          section.compute_dtype == "bf16" ? DType::bf16 : DType::f32};
}

Layout begin_layout(const io::Deck& deck) {
  Layout layout;
  layout.config = gpt_config(deck.model);
  layout.config.recomputes = deck.device.recompute == "gelu_layernorm";
  layout.grid = {static_cast<int>(deck.parallel.tensor_parallel_size),
                 static_cast<int>(deck.parallel.pipeline_parallel_size),
                 static_cast<int>(deck.parallel.data_parallel_size)};
  layout.microbatch = {deck.batch.micro_batch_size, deck.model.seq_length};
  layout.microbatches = parallel::BatchPlan::uniform(deck.batch.global_batch_size,
                                                     deck.batch.micro_batch_size, layout.grid.data, 0)
                            .microbatches();
  layout.fails_over = layout.grid.pipeline > 1 && deck.pipeline.p2p == "auto";
  return layout;
}

Layout plan_layout(const io::Deck& deck, double flop_per_second, const MemoryRoom& room) {
  if (deck.device.kind == "emulated") return plan_emulated_layout(deck);
  Layout layout = begin_layout(deck);
  const parallel::LayerCosts costs = parallel::estimate_layer_costs(
      layout.config, static_cast<double>(layout.microbatch.rows()), layout.grid.tensor, flop_per_second);
  layout.spans = parallel::partition_stages(layout.config, layout.grid.pipeline, costs);
  layout.costs = parallel::pipeline_costs(layout.spans, costs);

  const auto device = kernels::create_cpu_device();
  const auto stream = device->create_stream();
  PaperGroup tensor_group(layout.grid.tensor);
  std::vector<StageNeeds> needs;
  for (const model::StageSpan& span : layout.spans) {
    const model::GptStage stage(layout.config, span, tensor_group, *device, *stream);
    const parallel::ShardMap shards = parallel::TrainingState::plan_shards(
        stage.parameters(), layout.config.compute_dtype, layout.grid.data);
    std::int64_t parameters = 0;
    for (const model::ParameterRow& row : stage.parameters().rows()) parameters += row.size();
    layout.parameters_of_stage.push_back(parameters);
    needs.push_back(stage_needs(layout, span, shards, room));
    layout.slot_room_of_stage.push_back(slot_room(layout, needs.back(), room));
    layout.traffic_of_stage.push_back(stage_traffic(layout, span, shards));
  }
  layout.limit = activation_limit(deck, layout, true);
  layout.schedule = plan_healthy(deck, layout);
  for (std::size_t s = 0; s < layout.spans.size(); ++s) {
    const int slots =
        layout.slot_room_of_stage[s].slots_for(parallel::peak_slots(layout.schedule, static_cast<int>(s)));
    layout.memory_of_stage.push_back(rank_memory(layout.slot_room_of_stage[s], needs[s], slots));
    layout.memory_of_stage.back().scratch += kept_bytes(layout, static_cast<int>(s));
  }
  return layout;
}

}  // namespace tenax::app
