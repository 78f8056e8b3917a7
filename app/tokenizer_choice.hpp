// Which tokenizer a checkpoint's model reads and writes.
#pragma once

#include <memory>
#include <string>

#include "app/command_line.hpp"
#include "io/checkpoint_info.hpp"
#include "io/tokenizer.hpp"

namespace tenax::app {

struct TokenizerChoice {
  std::string name, vocab_dir;
  /// False: nobody said so; the deck's default, or an imported model without a deck.
  bool is_known = false;

  std::unique_ptr<io::Tokenizer> create() const { return io::Tokenizer::create(name, vocab_dir); }
};

/// The options --tokenizer and --vocab (which alone means gpt2), else the deck that the model was trained with, else
/// bytes.
TokenizerChoice choose_tokenizer(const CommandLine& line, const io::CheckpointInfo& checkpoint);

}  // namespace tenax::app
