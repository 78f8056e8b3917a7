#include "app/training/data_tokenizer.hpp"

#include <algorithm>
#include <utility>

#include "io/tokenizer/tokenizer.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

using kernels::Error;
using kernels::Scope;
using Reason = DataTokenizer::Reason;

/// Adds to what is known what another one says, which must agree.
void add(DataTokenizer& known, const io::TokenizerClaim& claim) {
  io::require_agreement(known.claim, claim);
  if (claim.tokenizer.empty()) return;
  if (known.reason == Reason::unknown) {
    known = {claim, Reason::files};
  } else if (known.claim.vocabulary_checksum.empty()) {
    known.claim = claim;
  }
}

bool is_text(const std::string& file) { return file.ends_with(".txt"); }

/// For a model of which neither the deck nor `who` says what its tokens are: `text` is to be its bytes.
void require_model_of_bytes(const std::string& who, const std::string& text, std::int64_t vocab_size) {
  if (vocab_size == io::ByteTokenizer::kVocabSize) return;
  throw Error(Scope::rank, "neither the deck nor " + who + " says what the " + std::to_string(vocab_size) +
                               " tokens of the model stand for: set data.tokenizer, for " + text +
                               " would be read as bytes");
}

/// Of `text`, where none of the files says anything.
DataTokenizer bytes_by_default(const std::string& text, const std::vector<std::string>& files,
                               std::int64_t vocab_size) {
  const auto numbers = std::find_if_not(files.begin(), files.end(), is_text);
  if (numbers != files.end()) require_model_of_bytes(*numbers, text, vocab_size);
  return {{text, "bytes", ""}, Reason::text_default};
}

}  // namespace

DataTokenizer settle_tokenizer(const io::DataSection& data, const std::vector<std::string>& files,
                               std::int64_t vocab_size) {
  DataTokenizer known;
  known.claim = io::claim_of_deck(data);
  if (!data.tokenizer.empty()) known.reason = Reason::stated;
  for (const std::string& file : files) add(known, io::claim_of_token_file(file));
  const auto text = std::find_if(files.begin(), files.end(), is_text);
  if (text == files.end()) return known;
  if (known.reason == Reason::unknown) return bytes_by_default(*text, files, vocab_size);
  if (known.claim.tokenizer != "gpt2") return known;
  if (data.vocab_dir.empty())
    throw Error(Scope::rank,
                *text + " is a text, to be tokenized by gpt2 as " + known.claim.who +
                    " is: that needs data.vocab_dir, the folder with encoder.json and vocab.bpe");
  io::DataSection stated = data;
  stated.tokenizer = known.claim.tokenizer;
  io::TokenizerClaim vocabulary = io::claim_of_deck(stated);
  vocabulary.who = "data.vocab_dir = " + data.vocab_dir;
  add(known, vocabulary);
  return known;
}

std::string compare_with_checkpoint(DataTokenizer& tokens, const io::TokenizerClaim& checkpoint,
                                    std::int64_t vocab_size) {
  if (tokens.reason == Reason::unknown) {
    if (!checkpoint.tokenizer.empty()) tokens = {checkpoint, Reason::files};
    return {};
  }
  const bool is_default = tokens.reason == Reason::text_default;
  if (is_default && checkpoint.tokenizer.empty())
    require_model_of_bytes(checkpoint.who, tokens.claim.who, vocab_size);
  try {
    io::require_agreement(tokens.claim, checkpoint);
  } catch (const Error& error) {
    if (is_default || tokens.reason == Reason::stated) throw;
    return error.what();
  }
  return {};
}

}  // namespace tenax::app
