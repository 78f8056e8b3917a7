#include "parallel/replica/swap_memory.hpp"

#include <algorithm>

namespace tenax::parallel {
namespace {

std::size_t excess(std::size_t needs, std::size_t has) { return needs > has ? needs - has : 0; }

/// Bytes that the state of stage `next` takes on a rank that has that of stage `now`. Host memory is
/// asked for in the size of the largest stage, and taken as far as it is written to.
std::size_t new_state(const Layout& layout, bool is_host_memory, std::size_t now, std::size_t next) {
  const StateMemory& has = layout.memory_of_stage[now].state;
  StateMemory needs = layout.memory_of_stage[next].state;
  needs.optimizer = std::max(needs.optimizer, spare_bytes(layout));
  switch (plan_reuse(is_host_memory ? largest_state(layout) : has, needs)) {
    case StateReuse::both:
      return needs.optimizer + excess(needs.weights, has.gradients) + excess(needs.gradients, has.weights);
    case StateReuse::gradients:
      return needs.optimizer + needs.weights + excess(needs.gradients, has.gradients);
    case StateReuse::nothing:
      break;
  }
  return needs.total();
}

/// Slots that are large enough are used again.
std::size_t new_activations(const Layout& layout, std::size_t now, std::size_t next) {
  const SlotRoom &has = layout.slot_room_of_stage[now], &needs = layout.slot_room_of_stage[next];
  const RankMemory& memory = layout.memory_of_stage[next];
  if (needs.slot_bytes > has.slot_bytes) return memory.activations;
  const int kept = std::min(has.on_device(layout.memory_of_stage[now].slots), needs.on_device(memory.slots));
  return memory.activations - static_cast<std::size_t>(kept) * needs.slot_bytes;
}

struct Taken {
  std::size_t device, pinned;
};

Taken taken_by_move(const Layout& layout, bool is_host_memory, std::size_t now, std::size_t next) {
  const RankMemory& memory = layout.memory_of_stage[next];
  return {new_state(layout, is_host_memory, now, next) + new_activations(layout, now, next) + memory.scratch +
              memory.workspace,
          memory.host_activations + memory.host_state};
}

}  // namespace

StateMemory largest_state(const Layout& layout) {
  StateMemory largest;
  for (const RankMemory& memory : layout.memory_of_stage) {
    largest.weights = std::max(largest.weights, memory.state.weights);
    largest.gradients = std::max(largest.gradients, memory.state.gradients);
    largest.optimizer = std::max(largest.optimizer, memory.state.optimizer);
  }
  return largest;
}

std::size_t spare_bytes(const Layout& layout) {
  const bool is_kept =
      layout.has_data && layout.grid.pipeline > 1 && !layout.has_peers && !layout.offloads_optimizer;
  return is_kept ? largest_state(layout).optimizer : 0;
}

std::optional<std::size_t> swap_bytes(const Layout& layout, const MemoryRoom& room) {
  if (!layout.has_data) return 0;
  if (layout.offloads_optimizer) return {};
  std::size_t most = 0;
  for (std::size_t now = 0; now < layout.memory_of_stage.size(); ++now)
    for (std::size_t next = 0; next < layout.memory_of_stage.size(); ++next) {
      const RankMemory& has = layout.memory_of_stage[now];
      const Taken taken = taken_by_move(layout, room.host == 0, now, next);
      if (has.total() + taken.device > room.device) return {};
      if (has.host_activations + has.host_state + taken.pinned > room.host) return {};
      most = std::max(most, taken.device + taken.pinned);
    }
  return most;
}

}  // namespace tenax::parallel
