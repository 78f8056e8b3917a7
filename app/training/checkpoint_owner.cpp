#include "app/training/checkpoint_owner.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "io/run/run_summary.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

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

fs::path folder_around_checkpoints(const io::Deck& deck) {
  return fs::path(deck.checkpoint.dir).parent_path();
}

/// Also of a run that was moved, or copied.
bool lie_in_run_directory(const io::Deck& deck) {
  return are_same(folder_around_checkpoints(deck), deck.run.output_dir);
}

/// Where the run that is to go on has written checkpoints, as its own deck.toml says; empty where it has written none.
fs::path own_checkpoints(const io::Deck& deck) {
  if (!is_directory_of_run(deck.run.output_dir)) return {};
  const auto before = deck_of_directory(deck);
  if (!before || before->checkpoint.interval < 0) return {};
  return io::checkpoint_directory_of_run(deck.run.output_dir);
}

bool goes_on_with_its_own(const io::Deck& deck) {
  return !deck.run.never_resumes() && are_same(own_checkpoints(deck), deck.checkpoint.dir);
}

/// Which of `runs` has that checkpoint.dir by its deck.toml; empty where none has, or the run that goes on has it too.
fs::path owner_among(const std::vector<fs::path>& runs, const io::Deck& deck) {
  if (lie_in_run_directory(deck) || goes_on_with_its_own(deck)) return {};
  const auto owner = std::find_if(runs.begin(), runs.end(),
                                  [&](const fs::path& run) { return owns_checkpoints(run, deck); });
  return owner == runs.end() ? fs::path() : *owner;
}

/// A run that begins sets aside what is of later steps than its own.
bool changes_checkpoints(const io::Deck& deck, const RunStart& start) {
  if (deck.checkpoint.interval >= 0) return true;
  const std::int64_t latest = start.checkpoint ? start.steps : -1;
  const auto is_later = [&](const auto& files) { return !files.empty() && files.back().step > latest; };
  return is_later(resilience::list_checkpoints(deck.checkpoint.dir)) ||
         (!deck.run.resumes_newest() && is_later(resilience::list_pending_checkpoints(deck.checkpoint.dir)));
}

std::string owner_text(const fs::path& owner, const io::Deck& deck) {
  return deck.checkpoint.dir + " is for the checkpoints of the run in " + owner.string() +
         ", by its deck.toml: ";
}

[[noreturn]] void refuse(const fs::path& owner, const io::Deck& deck) {
  throw kernels::Error(kernels::Scope::rank,
                       owner_text(owner, deck) +
                           "this run would go on from them and remove them; choose another "
                           "checkpoint.dir, where run.resume=FILE begins with one of them");
}

}  // namespace

void check_checkpoints_are_nowhere_else(const io::Deck& deck) {
  const fs::path stated = own_checkpoints(deck);
  if (stated.empty() || deck.device.kind == io::DeviceKind::emulated) return;
  if (are_same(stated, deck.checkpoint.dir) || resilience::list_checkpoints(stated).empty()) return;
  throw kernels::Error(kernels::Scope::rank,
                       "the checkpoints of the run in " + deck.run.output_dir + " are in " + stated.string() +
                           " by its deck.toml, and none is in " + deck.checkpoint.dir + ": checkpoint.dir=" +
                           stated.string() + " goes on with them, run.resume=never begins anew");
}

bool may_place_checkpoints(const io::Deck& deck) {
  const fs::path owner = owner_among({folder_around_checkpoints(deck)}, deck);
  if (!owner.empty() && deck.checkpoint.interval >= 0) refuse(owner, deck);
  return owner.empty();
}

std::string check_checkpoint_owner(const io::Deck& deck, const RunStart& start) {
  const fs::path writer = writer_of(deck, start);
  const fs::path owner = owner_among({writer, folder_around_checkpoints(deck)}, deck);
  const bool changes = changes_checkpoints(deck, start);
  if (!owner.empty() && changes) refuse(owner, deck);
  if (!owner.empty()) return owner_text(owner, deck) + "this run writes none there and removes none";
  if (writer.empty() || lie_in_run_directory(deck) || are_same(writer, deck.run.output_dir)) return {};
  return "the checkpoints in " + deck.checkpoint.dir + " are of a run in " + writer.string() +
         ": this run goes on from them" + (changes ? ", and removes them as it writes its own" : "");
}

}  // namespace tenax::app
