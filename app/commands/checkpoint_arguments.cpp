#include "app/commands/checkpoint_arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/console.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/deck/deck.hpp"
#include "io/run/run_summary.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "kernels/error.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

namespace {

/// None if it is no complete checkpoint, which a notice says.
std::optional<io::PosixFile> open_complete(const fs::path& path) try {
  io::PosixFile file = io::PosixFile::open_to_read(path);
  io::verify_seal(path);
  return file;
} catch (const kernels::UnfitFileError& error) {
  print_notice(std::string("passes over an incomplete checkpoint: ") + error.what());
  return {};
}

}  // namespace

io::VerifiedCheckpoint checkpoint_of_argument(const std::string& argument) {
  std::error_code none;
  if (!fs::is_directory(argument, none)) return io::open_verified_checkpoint(argument);
  auto checkpoints = resilience::list_checkpoints(argument);
  if (checkpoints.empty())
    checkpoints = resilience::list_checkpoints(io::checkpoint_directory_of_run(argument));
  std::reverse(checkpoints.begin(), checkpoints.end());
  for (const resilience::CheckpointFile& checkpoint : checkpoints) {
    auto file = open_complete(checkpoint.path);
    if (!file) continue;
    print_notice("of the folder " + argument + " takes " + checkpoint.path.string());
    return {std::move(*file), io::read_checkpoint_info(checkpoint.path)};
  }
  throw Error(Scope::rank, argument +
                               " is a folder without a complete checkpoint: give a checkpoint "
                               "(step-NNNNNN.h5), or the directory of a run that has written one");
}

namespace {

std::string vocab_dir_of(const io::CheckpointInfo& info) {
  const auto deck = io::readable_deck(info.deck);
  return deck ? deck->data.vocab_dir : "";
}

}  // namespace

std::unique_ptr<io::Tokenizer> TokenizerChoice::create() const {
  if (name.empty())
    throw Error(Scope::rank,
                checkpoint.who + " does not say what its " + std::to_string(vocab_size) +
                    " tokens stand for: give --tokenizer gpt2 --vocab DIR (DIR holds GPT-2's encoder.json "
                    "and vocab.bpe), or --tokenizer bytes");
  if (name == "gpt2" && vocab_dir.empty() && checkpoint.tokenizer == name)
    throw Error(Scope::rank,
                checkpoint.who +
                    " does not say where GPT-2's vocabulary is, or only in a deck of another version: "
                    "give --vocab DIR (DIR holds encoder.json and vocab.bpe)");
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
