#include "app/training/checkpoint_owner.hpp"

#include <filesystem>
#include <system_error>

#include "io/run/run_summary.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

bool are_same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

/// A deck.toml alone may be a user's.
bool is_directory_of_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / "deck.toml", ignored) && fs::exists(directory / "events.jsonl", ignored);
}

bool owns_checkpoints(const fs::path& run, const io::Deck& deck) {
  return !are_same(run, deck.run.output_dir) && is_directory_of_run(run) &&
         are_same(io::checkpoint_directory_of_run(run), deck.checkpoint.dir);
}

/// The run directory of who wrote the checkpoint that is resumed from checkpoint.dir; empty where nobody knows.
fs::path writer_of(const io::Deck& deck, const RunStart& start) {
  if (!start.checkpoint || !are_same(start.checkpoint->file().parent_path(), deck.checkpoint.dir)) return {};
  const auto written = io::readable_deck(start.checkpoint->info().deck);
  return fs::path(written ? written->run.output_dir : "");
}

}  // namespace

std::string check_checkpoint_owner(const io::Deck& deck, const RunStart& start) {
  const fs::path directory = deck.checkpoint.dir, writer = writer_of(deck, start);
  if (are_same(directory.parent_path(), deck.run.output_dir))
    return {};  // also of a run that was moved, or copied
  for (const fs::path& run : {writer, directory.parent_path()})
    if (owns_checkpoints(run, deck))
      throw kernels::Error(
          kernels::Scope::rank,
          directory.string() + " is for the checkpoints of the run in " + run.string() +
              ", by its deck.toml: this run would go on from them and remove them; choose another "
              "checkpoint.dir, where run.resume=FILE begins with one of them");
  if (writer.empty() || are_same(writer, deck.run.output_dir)) return {};
  return "the checkpoints in " + directory.string() + " are of a run in " + writer.string() +
         ": this run goes on from them, and removes them as it writes its own";
}

}  // namespace tenax::app
