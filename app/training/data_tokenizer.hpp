// Which tokenizer the tokens of a run are of.
#pragma once

#include <string>
#include <vector>

#include "io/checkpoint/tokenizer_claim.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

struct DataTokenizer {
  io::TokenizerClaim
      claim;  ///< empty where nobody knows: a .bin says nothing, and needs no tokenizer to be trained on
  /// Why it is that: the deck states it, the files say it, or texts are bytes where
  /// nothing is said.
  enum class Reason { stated, files, text_default, unknown } reason = Reason::unknown;
};

/// Which tokenizer the deck, the vocabulary and all files of [data] agree on. Reads what the files
/// say of it, not their tokens. Throws Error(rank) where two of them disagree, naming both, and for
/// a text whose tokenizer lacks its vocabulary. Where nobody says anything, a text is bytes; then
/// Error(rank) beside a file of tokens, if the model's vocabulary is not that of bytes.
DataTokenizer settle_tokenizer(const io::DataSection& data, const std::vector<std::string>& files,
                               std::int64_t vocab_size);

/// Compares the tokenizer with that of a checkpoint, which a run goes on from or takes its weights
/// from. Takes the checkpoint's over where nothing else says one.
///
/// Throws Error(rank) if the checkpoint's tokens are others than the deck states, or than those
/// that texts have by default: nobody stated that default, and the mistake would go unnoticed.
/// Returns any other difference as a sentence to warn of.
std::string compare_with_checkpoint(DataTokenizer& tokens, const io::TokenizerClaim& checkpoint,
                                    std::int64_t vocab_size);

}  // namespace tenax::app
