#include "app/commands/checkpoint_arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/console.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
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

bool is_gone(const fs::path& path) {
  std::error_code unknown;
  return !fs::exists(path, unknown) && !unknown;
}

/// None if it is no complete checkpoint, which a notice says, or if its run has removed it meanwhile.
std::optional<io::VerifiedCheckpoint> open_complete(const fs::path& path) try {
  return io::open_verified_checkpoint(path);
} catch (const kernels::UnfitFileError& error) {
  if (!is_gone(path)) print_notice(std::string("passes over an incomplete checkpoint: ") + error.what());
  return {};
} catch (const Error&) {  // a file server says of a removed file that it is stale
  if (!is_gone(path)) throw;
  return {};
}

/// Of a run directory or a folder of checkpoints, the newest first.
std::vector<resilience::CheckpointFile> listed_checkpoints(const std::string& folder) {
  auto checkpoints = resilience::list_checkpoints(folder);
  if (checkpoints.empty())
    checkpoints = resilience::list_checkpoints(io::checkpoint_directory_of_run(folder));
  std::reverse(checkpoints.begin(), checkpoints.end());
  return checkpoints;
}

}  // namespace

// A run may remove all that were listed before one is open, as it has written newer ones: these are listed then.
io::VerifiedCheckpoint checkpoint_of_argument(const std::string& argument) {
  constexpr int kMostListings = 10;
  std::error_code none;
  if (!fs::is_directory(argument, none)) return io::open_verified_checkpoint(argument);
  for (int listing = 0; listing < kMostListings; ++listing) {
    const auto checkpoints = listed_checkpoints(argument);
    for (const resilience::CheckpointFile& checkpoint : checkpoints) {
      auto found = open_complete(checkpoint.path);
      if (!found) continue;
      print_notice("of the folder " + argument + " takes " + checkpoint.path.string());
      return std::move(*found);
    }
    const auto is_there = [](const resilience::CheckpointFile& file) { return !is_gone(file.path); };
    if (!checkpoints.empty() && std::all_of(checkpoints.begin(), checkpoints.end(), is_there)) break;
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

bool TokenizerChoice::has_vocabulary() const {
  if (name != "gpt2") return true;
  const fs::path folder = vocab_dir;
  return !folder.empty() && !is_gone(folder / "encoder.json") && !is_gone(folder / "vocab.bpe");
}

std::unique_ptr<io::Tokenizer> TokenizerChoice::create() const {
  if (name.empty())
    throw Error(Scope::rank,
                checkpoint.who + " does not say what its " + std::to_string(vocab_size) +
                    " tokens stand for: give --tokenizer gpt2 --vocab DIR (DIR holds GPT-2's encoder.json "
                    "and vocab.bpe), or --tokenizer bytes");
  if (name == "gpt2" && vocab_dir.empty() && !is_asked && checkpoint.tokenizer == name)
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
  choice.is_asked = !option.empty();
  if (!choice.is_known && choice.vocab_size == io::ByteTokenizer::kVocabSize) choice.name = "bytes";
  if (choice.name == "gpt2") choice.vocab_dir = option_dir.empty() ? vocab_dir_of(info) : option_dir;
  return choice;
}

}  // namespace tenax::app
