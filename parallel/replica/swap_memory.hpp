// The memory that ranks need to change places: what a rank's next place cannot use again of its present one. Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "parallel/replica/layout.hpp"

namespace tenax::parallel {

/// The most that any stage needs of each kind.
StateMemory largest_state(const Layout& layout);

/// What of swap_bytes() a rank keeps from the start on where it may change places, bytes
/// (GptReplica::Options::keeps_spare): a second optimizer state for any place. 0 without a pipeline, and
/// beside other replicas, where places never change.
std::size_t spare_bytes(const Layout& layout);

/// The most that a rank takes beside what it has for a change of places, bytes: a second optimizer state,
/// since the old one must outlast a failure, and what of the next place's weights, gradients and
/// activations is larger than what the rank has (GptReplica::Options::before). Absent where `room` (as
/// plan_layout() had it) has no place for it.
std::optional<std::size_t> swap_bytes(const Layout& layout, const MemoryRoom& room);

}  // namespace tenax::parallel
