// StageNeeds: the device and host memory that a rank of a stage needs, and how it is shared out
// among state, activations and kept messages. Pure.
#pragma once

#include "parallel/layout/shard_map.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::parallel {

/// Bytes, without the activations of live microbatches; `stage` says how much each of those takes.
struct StageNeeds {
  StateMemory state;
  model::StageMemory stage;
  std::size_t workspace = 0, probe = 0, host_state = 0;
  std::size_t kept = 0;  ///< room for kept_bytes(), which a schedule decides
  std::size_t fixed() const { return state.total() + stage.scratch_bytes + workspace + probe + kept; }
};

/// `layout`: as far as begin_layout() made it.
StageNeeds stage_needs(const Layout& layout, const model::StageSpan& span, const ShardMap& shards,
                       const MemoryRoom& room);
SlotRoom slot_room(const Layout& layout, const StageNeeds& needs, const MemoryRoom& room);
/// How many messages to a neighbour a stage keeps until they are acknowledged. A failover sends
/// them again.
int retransmit_buffers(const Layout& layout, int stage, int neighbour);
std::size_t message_bytes(const Layout& layout);
/// The bytes of all messages that a stage keeps. `layout` must have its schedule.
std::size_t kept_bytes(const Layout& layout, int stage);
RankMemory rank_memory(const SlotRoom& room, const StageNeeds& needs, int slots);
/// Throws Error(rank) where the activations that `stage` is planned to hold on its device, of which a rank
/// has `device_bytes`, do not fit beside the rest.
void check_device(const Layout& layout, int stage, std::size_t device_bytes);

}  // namespace tenax::parallel
