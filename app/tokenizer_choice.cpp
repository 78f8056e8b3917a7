#include "app/tokenizer_choice.hpp"

#include "io/deck/deck.hpp"
#include "io/tokenizer/byte_tokenizer.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

std::string vocab_dir_of(const io::CheckpointInfo& info) {
  return info.deck.empty() ? "" : io::parse_resolved_deck(info.deck).data.vocab_dir;
}

}  // namespace

std::unique_ptr<io::Tokenizer> TokenizerChoice::create() const {
  if (name.empty())
    throw kernels::Error(
        kernels::Scope::rank,
        checkpoint.who + " does not say what its " + std::to_string(vocab_size) +
            " tokens stand for: give --tokenizer gpt2 --vocab DIR (DIR holds GPT-2's encoder.json "
            "and vocab.bpe), or --tokenizer bytes");
  auto tokenizer = io::Tokenizer::create(name, vocab_dir);
  if (name == checkpoint.tokenizer)
    io::require_agreement(checkpoint,
                          {"the vocabulary in " + vocab_dir, name, io::vocabulary_checksum(*tokenizer)});
  return tokenizer;
}

TokenizerChoice choose_tokenizer(const CommandLine& line, const io::TokenizerClaim& checkpoint,
                                 const io::CheckpointInfo& info, const io::TokenizerClaim& data) {
  const std::string option_dir = line.text("vocab", "");
  const std::string option = line.text("tokenizer", option_dir.empty() ? "" : "gpt2");
  io::require_agreement(option.empty() ? checkpoint : io::TokenizerClaim{"--tokenizer " + option, option, ""},
                        data);
  TokenizerChoice choice;
  choice.checkpoint = checkpoint;
  choice.vocab_size = info.model.vocab_size;
  for (const std::string& said : {option, checkpoint.tokenizer, data.tokenizer})
    if (choice.name.empty()) choice.name = said;
  choice.is_known = !choice.name.empty();
  if (!choice.is_known && choice.vocab_size == io::ByteTokenizer::kVocabSize) choice.name = "bytes";
  if (choice.name == "gpt2") choice.vocab_dir = option_dir.empty() ? vocab_dir_of(info) : option_dir;
  return choice;
}

}  // namespace tenax::app
