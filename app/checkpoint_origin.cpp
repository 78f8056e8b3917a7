#include "app/checkpoint_origin.hpp"

#include "io/token_file.hpp"
#include "io/tokenizer.hpp"

namespace tenax::app {

namespace {

void add_tokens_of(const std::string& file, io::CheckpointOrigin& origin) {
  origin.tokenizer = io::read_token_file_info(file).tokenizer;
  if (origin.tokenizer != "bytes")
    origin.vocabulary_checksum = io::vocabulary_checksum(io::read_token_vocabulary(file));
}

void add_tokenizer_of(const io::DataSection& data, io::CheckpointOrigin& origin) {
  origin.tokenizer = data.tokenizer;
  if (data.tokenizer == "bytes" || data.vocab_dir.empty()) return;
  origin.vocabulary_checksum =
      io::vocabulary_checksum(*io::Tokenizer::create(data.tokenizer, data.vocab_dir));
}

}  // namespace

io::CheckpointOrigin checkpoint_origin(const io::Deck& deck, const Build& build) {
  io::CheckpointOrigin origin;
  origin.compute_dtype = deck.model.compute_dtype;
  origin.tenax_version = build.version;
  origin.commit = build.commit;
  const std::string& tokens = deck.data.train.front().file;
  if (tokens.ends_with(".h5"))
    add_tokens_of(tokens, origin);
  else if (tokens.ends_with(".txt") || deck.data.tokenizer != "bytes")  // "bytes" of a .bin is only a default
    add_tokenizer_of(deck.data, origin);
  return origin;
}

}  // namespace tenax::app
