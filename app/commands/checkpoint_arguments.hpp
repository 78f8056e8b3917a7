// What a command line says of a checkpoint: where it is, and which tokenizer its model
// reads and writes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/command_line.hpp"
#include "io/checkpoint/checkpoint_info.hpp"
#include "io/checkpoint/tokenizer_claim.hpp"
#include "io/tokenizer/tokenizer.hpp"

namespace tenax::app {

/// `argument` itself; or, where it is a run directory or a folder of checkpoints, the newest
/// complete checkpoint there, which is then named on stderr together with newer ones that are not
/// complete. Throws Error(rank) if there is none.
std::filesystem::path checkpoint_of_argument(const std::string& argument);

struct TokenizerChoice {
  std::string name;  ///< empty: nobody says, and the model's tokens are not 256
  std::string vocab_dir;
  bool is_known = false;  ///< somebody says so; else "bytes" is a guess, for a model of 256 tokens
  io::TokenizerClaim checkpoint;
  std::int64_t vocab_size = 0;

  /// Throws Error(rank) if there is no name, with the options to give; and if the vocabulary is not
  /// that of the checkpoint's tokens. Else as Tokenizer::create.
  std::unique_ptr<io::Tokenizer> create() const;
};

/// The options --tokenizer and --vocab (which alone means gpt2), else what the checkpoint or the
/// token file `data` says, else bytes for a model of 256 tokens. Throws Error(rank) naming both if
/// the file's tokens are not those of the option, or, where none is given, of the checkpoint.
TokenizerChoice choose_tokenizer(const CommandLine& line, const io::TokenizerClaim& checkpoint,
                                 const io::CheckpointInfo& info, const io::TokenizerClaim& data = {});

}  // namespace tenax::app
