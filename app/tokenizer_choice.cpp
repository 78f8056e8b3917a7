#include "app/tokenizer_choice.hpp"

#include "io/deck.hpp"

namespace tenax::app {

TokenizerChoice choose_tokenizer(const CommandLine& line, const io::CheckpointInfo& checkpoint) {
  const std::string vocab_dir = line.text("vocab", "");
  const std::string name = line.text("tokenizer", vocab_dir.empty() ? "" : "gpt2");
  if (name == "bytes") return {name, "", true};
  const io::DataSection data =
      checkpoint.deck.empty() ? io::DataSection{} : io::parse_resolved_deck(checkpoint.deck).data;
  if (!name.empty()) return {name, vocab_dir.empty() ? data.vocab_dir : vocab_dir, true};
  // The deck's "bytes" is a statement only about a text; .bin files may hold any tokens.
  const bool is_text = !data.train.empty() && data.train.front().file.ends_with(".txt");
  return {data.tokenizer, data.vocab_dir, data.tokenizer != "bytes" || is_text};
}

}  // namespace tenax::app
