// StageNeeds: what a rank of a stage needs of its device's and its host's memory, and how that is shared out. Pure.
#pragma once

#include "parallel/layout/shard_map.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::parallel {

/// Besides the activations of live microbatches, and for each of those. Bytes.
struct StageNeeds {
  StateMemory state;
  model::StageMemory stage;
  std::size_t workspace = 0, host_state = 0;
  std::size_t kept = 0;  ///< room for kept_bytes(), which a schedule decides
  std::size_t fixed() const { return state.total() + stage.scratch_bytes + workspace + kept; }
};

/// `layout`: as far as begin_layout() made it.
StageNeeds stage_needs(const Layout& layout, const model::StageSpan& span, const ShardMap& shards,
                       const MemoryRoom& room);
SlotRoom slot_room(const Layout& layout, const StageNeeds& needs, const MemoryRoom& room);
/// How many of its messages to a neighbour a stage keeps until they are acknowledged, to send them again over delegates.
int retransmit_buffers(const Layout& layout, int stage, int neighbour);
std::size_t message_bytes(const Layout& layout);
/// Of all that a stage keeps. `layout` has its schedule.
std::size_t kept_bytes(const Layout& layout, int stage);
RankMemory rank_memory(const SlotRoom& room, const StageNeeds& needs, int slots);

}  // namespace tenax::parallel
