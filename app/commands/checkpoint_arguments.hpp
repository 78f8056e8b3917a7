// What a command line says of a checkpoint: where it is, and which tokenizer its model
// reads and writes.
#pragma once

#include <memory>
#include <string>

#include "app/command_line.hpp"
#include "io/checkpoint/checkpoint_info.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/checkpoint/tokenizer_claim.hpp"
#include "io/tokenizer/tokenizer.hpp"

namespace tenax::app {

/// The checkpoint that `argument` names: the file itself, or the newest complete checkpoint of a
/// run directory or a folder of checkpoints. Then a notice on stderr names it, and newer ones that
/// are not complete. Throws Error(rank) if there is none. Reads each of them once, which may take
/// an hour.
io::VerifiedCheckpoint checkpoint_of_argument(const std::string& argument);

struct TokenizerChoice {
  std::string name;  ///< empty: nobody says, and the model's tokens are not 256
  std::string vocab_dir;
  bool is_known = false;  ///< somebody says so; else "bytes" is a guess, for a model of 256 tokens
  bool is_asked = false;  ///< the command line names it
  io::TokenizerClaim checkpoint;
  std::int64_t vocab_size = 0;

  /// What the tokenizer needs is there, whatever it holds.
  bool has_vocabulary() const;

  /// Throws Error(rank) if there is no name, or no vocabulary for the one that the checkpoint says, with the options to
  /// give; and if the vocabulary is not that of the checkpoint's tokens. Else as Tokenizer::create.
  std::unique_ptr<io::Tokenizer> create() const;
};

/// The tokenizer of the options --tokenizer and --vocab (--vocab alone means gpt2); else the one
/// that the checkpoint, or the token file `data`, names; else bytes, for a model of 256 tokens.
/// Throws Error(rank) where the file's tokens are others than the option says, or, without an
/// option, than the checkpoint says.
TokenizerChoice choose_tokenizer(const CommandLine& line, const io::TokenizerClaim& checkpoint,
                                 const io::CheckpointInfo& info, const io::TokenizerClaim& data = {});

}  // namespace tenax::app
