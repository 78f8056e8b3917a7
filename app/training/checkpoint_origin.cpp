#include "app/training/checkpoint_origin.hpp"

namespace tenax::app {

io::CheckpointOrigin checkpoint_origin(const io::Deck& deck, const io::TokenizerClaim& tokens,
                                       const Build& build) {
  return {tokens.tokenizer, tokens.vocabulary_checksum, deck.model.compute_dtype.word(), build.version,
          build.commit};
}

}  // namespace tenax::app
