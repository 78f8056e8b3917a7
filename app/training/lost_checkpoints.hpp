// A run whose checkpoints are gone begins at step 0 again, and keeps what it has recorded.
#pragma once

#include <optional>
#include <string>

#include "io/deck/deck.hpp"

namespace tenax::app {

/// Before the first event of a run that found no checkpoint to resume from. Where events of an earlier start tell of
/// some, sets that one's metrics.jsonl and TensorBoard's files aside, and returns a sentence to warn of. Throws
/// kernels::Error(rank).
std::optional<std::string> leave_lost_steps(const io::Deck& deck);

}  // namespace tenax::app
