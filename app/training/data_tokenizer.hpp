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

/// For all files of [data], train and validation. Throws Error(rank) naming both, if two of deck,
/// vocabulary and files say something else, and for a text whose tokenizer lacks its vocabulary.
/// Reads what the files say, not their tokens.
DataTokenizer settle_tokenizer(const io::DataSection& data, const std::vector<std::string>& files);

/// What a run that goes on from a checkpoint, or begins with its weights, finds in it. Throws
/// Error(rank) if the checkpoint's tokens are others than the deck states; or than texts are by
/// default, which is no statement and would go unnoticed. Other differences are returned as a
/// sentence to warn of. A checkpoint's statement is taken over where there is no other.
std::string compare_with_checkpoint(DataTokenizer& tokens, const io::TokenizerClaim& checkpoint,
                                    std::int64_t vocab_size);

}  // namespace tenax::app
