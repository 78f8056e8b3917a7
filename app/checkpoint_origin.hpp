// What the checkpoints of a run say of where they come from.
#pragma once

#include "app/build.hpp"
#include "io/checkpoint_info.hpp"
#include "io/deck.hpp"

namespace tenax::app {

/// Reads the vocabulary of the training tokens. Throws Error(rank) if it cannot be read.
io::CheckpointOrigin checkpoint_origin(const io::Deck& deck, const Build& build);

}  // namespace tenax::app
