// TokenizerClaim: what somebody says of the tokenizer that made some tokens.
#pragma once

#include <filesystem>
#include <string>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/deck/deck.hpp"

namespace tenax::io {

struct TokenizerClaim {
  std::string who;                  ///< for messages: "data.tokenizer", a file's name
  std::string tokenizer;            ///< "bytes" or "gpt2"; empty: nothing is said
  std::string vocabulary_checksum;  ///< of io/tokenizer/tokenizer.hpp; empty: not known
};

/// Throws kernels::Error(rank) naming both if each says something and they differ, in the tokenizer or its vocabulary.
void require_agreement(const TokenizerClaim& a, const TokenizerClaim& b);

/// What a token file says of itself; a text and a .bin say nothing. Throws kernels::Error(rank) if it cannot be read.
TokenizerClaim claim_of_token_file(const std::filesystem::path& file);

/// What a checkpoint says of the tokens its model was trained on; where it is older than such statements, its deck, as far as
/// that is more than a default.
TokenizerClaim claim_of_checkpoint(const std::filesystem::path& file, const CheckpointInfo& info);

/// What a deck states, by data.tokenizer and data.vocab_dir; a vocabulary that cannot be read is no statement.
TokenizerClaim claim_of_deck(const DataSection& data);

}  // namespace tenax::io
