#include "parallel/replica/stage_needs.hpp"

#include <algorithm>
#include <string>

#include "kernels/error.hpp"
#include "model/transformer_block.hpp"
#include "parallel/state/state_mirror.hpp"

namespace tenax::parallel {
namespace {

std::size_t boundary_bytes(const Layout& layout) { return 2 * message_bytes(layout); }

// Two messages are under way in general: one that is sent, and one that is made meanwhile.
constexpr int kUnderWay = 2;

// As far as is known before there is a schedule: two to either side, and the two more forwards of a stage than of the next.
std::size_t room_for_kept(const Layout& layout, const model::StageSpan& span) {
  if (!layout.fails_over) return 0;
  const int up = span.has_embedding ? 0 : kUnderWay, down = span.has_head ? 0 : kUnderWay + 2;
  return static_cast<std::size_t>(up + down) * message_bytes(layout);
}

kernels::StepShape step_shape(const Layout& layout, const model::StageSpan& span) {
  const model::GptConfig& c = layout.config;
  return {c.compute_dtype,
          layout.microbatch.sequences,
          layout.microbatch.length,
          c.hidden_size,
          static_cast<int>(c.num_attention_heads) / layout.grid.tensor,
          c.hidden_size / c.num_attention_heads,
          span.has_embedding,
          !(layout.never_splits_backward() && model::TransformerBlock::has_room_for_d_qkv(c))};
}

std::size_t without(std::size_t bytes, std::size_t taken) { return bytes > taken ? bytes - taken : 0; }

std::string mib_text(std::size_t bytes) {
  constexpr std::size_t kMib = std::size_t{1} << 20;
  return std::to_string((bytes + kMib - 1) / kMib) + " MiB";
}

}  // namespace

StageNeeds stage_needs(const Layout& layout, const model::StageSpan& span, const ShardMap& shards,
                       const MemoryRoom& room) {
  const kernels::DType compute = layout.config.compute_dtype;
  const Optimizer& optimizer = *layout.optimizer;
  StageNeeds needs{TrainingState::plan_memory(shards, compute, optimizer, sum_memory_of(layout)),
                   model::StageMemory::plan(layout.config, span, layout.grid.tensor, layout.microbatch),
                   room.workspace_bytes(step_shape(layout, span)),
                   room.probe_bytes,
                   room.host > 0 ? StateMirror::plan_bytes(shards, compute, optimizer) : 0,
                   room_for_kept(layout, span)};
  if (!layout.offloads_optimizer) return needs;
  needs.host_state += needs.state.optimizer;
  needs.state.optimizer = TrainingState::plan_offload(shards, compute, optimizer);
  return needs;
}

std::size_t message_bytes(const Layout& layout) {
  return static_cast<std::size_t>(layout.microbatch.rows() * layout.config.hidden_size) *
         bytes_of(layout.config.compute_dtype);
}

// A stage that holds more activations than the one after it has made some that are not yet received there.
int retransmit_buffers(const Layout& layout, int stage, int neighbour) {
  if (!layout.fails_over) return 0;
  if (neighbour < stage) return kUnderWay;
  return kUnderWay + std::max(0, peak_slots(layout.schedule, stage) - peak_slots(layout.schedule, neighbour));
}

std::size_t kept_bytes(const Layout& layout, int stage) {
  int messages = 0;
  for (const int neighbour : {stage - 1, stage + 1})
    if (neighbour >= 0 && neighbour < layout.grid.pipeline)
      messages += retransmit_buffers(layout, stage, neighbour);
  return static_cast<std::size_t>(messages) * message_bytes(layout);
}

SlotRoom slot_room(const Layout& layout, const StageNeeds& needs, const MemoryRoom& room) {
  return {without(room.device, needs.fixed()),
          without(room.host, needs.host_state),
          needs.stage.slot_bytes,
          boundary_bytes(layout),
          room.host > 0 && layout.grid.pipeline > 1 ? 1 : 0,
          room.is_firm};
}

RankMemory rank_memory(const SlotRoom& room, const StageNeeds& needs, int slots) {
  const model::StageMemory& stage = needs.stage;
  const int on_device = room.on_device(slots);
  RankMemory memory;
  memory.state = needs.state;
  memory.activations = stage.slot_bytes * static_cast<std::size_t>(on_device);
  memory.scratch = stage.scratch_bytes;
  memory.workspace = needs.workspace;
  memory.probe = needs.probe;
  memory.slots = slots;
  memory.host_state = needs.host_state;
  if (on_device == slots) return memory;
  memory.activations += static_cast<std::size_t>(slots) * room.boundary_bytes;
  memory.host_activations = stage.slot_bytes * static_cast<std::size_t>(slots - on_device);
  return memory;
}

void check_device(const Layout& layout, int stage, std::size_t device_bytes) {
  const auto s = static_cast<std::size_t>(stage);
  const RankMemory& memory = layout.memory_of_stage[s];
  if (memory.activations <= layout.slot_room_of_stage[s].device_bytes) return;
  throw kernels::Error(
      kernels::Scope::rank,
      "pipeline stage " + std::to_string(stage) + " needs " + mib_text(memory.total()) +
          " of its GPU's memory, a rank has " + mib_text(device_bytes) +
          " there: weights, gradients and optimizer " + mib_text(memory.state.total()) + ", activations (" +
          std::to_string(memory.slots) + " live) " + mib_text(memory.activations) + ", room to compute in " +
          mib_text(memory.scratch + memory.workspace + memory.probe) +
          "; use more ranks, a smaller micro-batch or model, device.recompute, or device.offload_optimizer");
}

}  // namespace tenax::parallel
