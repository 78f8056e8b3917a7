#include "io/checkpoint/tokenizer_claim.hpp"

#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

DataSection data_of_deck(const std::filesystem::path& checkpoint, const CheckpointInfo& info) {
  try {
    return parse_resolved_deck(info.deck).data;
  } catch (const kernels::Error& error) {
    throw kernels::Error(kernels::Scope::rank, "the deck in " + checkpoint.string() + ": " + error.what());
  }
}

}  // namespace

void require_agreement(const TokenizerClaim& a, const TokenizerClaim& b) {
  if (a.tokenizer.empty() || b.tokenizer.empty()) return;
  const bool is_same = a.tokenizer == b.tokenizer;
  const bool may_compare = !a.vocabulary_checksum.empty() && !b.vocabulary_checksum.empty();
  if (is_same && (!may_compare || a.vocabulary_checksum == b.vocabulary_checksum)) return;
  const std::string differ = is_same ? "the same tokenizer " + a.tokenizer +
                                           " but another vocabulary: checksum " + a.vocabulary_checksum +
                                           " and " + b.vocabulary_checksum
                                     : "the tokenizer " + a.tokenizer + " and " + b.tokenizer;
  throw kernels::Error(kernels::Scope::rank, a.who + " and " + b.who + " do not go together, for they say " +
                                                 differ +
                                                 ": tokenize the text again, or name what belongs together");
}

TokenizerClaim claim_of_token_file(const std::filesystem::path& file) {
  TokenizerClaim claim{file.string(), "", ""};
  if (file.extension() != ".h5") return claim;
  claim.tokenizer = read_token_file_info(file).tokenizer;
  if (claim.tokenizer != "bytes")
    claim.vocabulary_checksum = vocabulary_checksum(read_token_vocabulary(file));
  return claim;
}

TokenizerClaim claim_of_checkpoint(const std::filesystem::path& file, const CheckpointInfo& info) {
  TokenizerClaim claim{file.string(), info.origin.tokenizer, info.origin.vocabulary_checksum};
  const bool says_who_wrote_it = !info.origin.tenax_version.empty();
  if (says_who_wrote_it || info.deck.empty()) return claim;
  const DataSection data = data_of_deck(file, info);
  // Its "bytes" is a statement only about a text; .bin files may hold any tokens.
  const bool is_text = !data.train.empty() && data.train.front().file.ends_with(".txt");
  if (data.tokenizer != "bytes" || is_text) claim.tokenizer = data.tokenizer;
  return claim;
}

TokenizerClaim claim_of_deck(const DataSection& data) {
  TokenizerClaim claim{"data.tokenizer", data.tokenizer, ""};
  if (data.tokenizer != "gpt2" || data.vocab_dir.empty()) return claim;
  try {
    claim.vocabulary_checksum = vocabulary_checksum(*Tokenizer::create(data.tokenizer, data.vocab_dir));
  } catch (
      const kernels::Error&) {  // who needs the vocabulary will say so: for tokens that are there nobody does
  }
  return claim;
}

}  // namespace tenax::io
