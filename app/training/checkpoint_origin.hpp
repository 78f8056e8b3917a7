// What the checkpoints of a run say of where they come from.
#pragma once

#include "app/build.hpp"
#include "io/checkpoint/checkpoint_info.hpp"
#include "io/checkpoint/tokenizer_claim.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

/// `tokens`: of what the model is trained on.
io::CheckpointOrigin checkpoint_origin(const io::Deck& deck, const io::TokenizerClaim& tokens,
                                       const Build& build);

}  // namespace tenax::app
