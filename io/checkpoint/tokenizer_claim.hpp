// TokenizerClaim: the tokenizer of some tokens, as a deck, a file or a checkpoint states it.
#pragma once

#include <filesystem>
#include <string>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/deck/deck.hpp"

namespace tenax::io {

struct TokenizerClaim {
  std::string who;                  ///< for messages: "data.tokenizer", a file's name
  std::string tokenizer;            ///< "bytes" or "gpt2"; empty: unstated
  std::string vocabulary_checksum;  ///< as io/tokenizer/tokenizer.hpp forms it; empty: not known
};

/// Throws kernels::Error(rank) that names both claims if both are stated and differ in the
/// tokenizer or its vocabulary.
void require_agreement(const TokenizerClaim& a, const TokenizerClaim& b);

/// The claim of a token file. A text and a .bin state nothing. Throws kernels::Error(rank) if the
/// file cannot be read.
TokenizerClaim claim_of_token_file(const std::filesystem::path& file);

/// The claim of a checkpoint on its training tokens. An older one states nothing itself; then its
/// deck counts, unless that only holds a default.
TokenizerClaim claim_of_checkpoint(const std::filesystem::path& file, const CheckpointInfo& info);

/// The claim of data.tokenizer and data.vocab_dir. A vocabulary that cannot be read states nothing.
TokenizerClaim claim_of_deck(const DataSection& data);

}  // namespace tenax::io
