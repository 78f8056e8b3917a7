#include "io/run/old_run.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "io/deck/deck.hpp"
#include "io/run/lock_owner.hpp"
#include "io/set_aside.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

bool holds_more_than_lock(const fs::path& directory) {
  std::error_code ignored;
  return std::any_of(fs::directory_iterator(directory, ignored), fs::directory_iterator(),
                     [](const auto& entry) { return entry.path().filename() != kLockFile; });
}

/// Empty where it cannot be told.
fs::path canonical_or_empty(const fs::path& path) {
  std::error_code failure;
  const fs::path known = fs::weakly_canonical(path, failure);
  return failure ? fs::path() : known;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path inside = canonical_or_empty(path).lexically_relative(canonical_or_empty(folder));
  return !inside.empty() && *inside.begin() != "..";
}

struct Stranger {
  std::string what;
  fs::path path;
};

std::vector<Stranger> what_is_to_stay(const Deck& deck, const fs::path& deck_file, FirstWeights weights) {
  std::vector<Stranger> strangers;
  if (canonical_or_empty(deck_file) != canonical_or_empty(deck.run.output_dir) / "deck.toml")
    strangers.push_back({"the deck", deck_file});
  for (const auto* sources : {&deck.data.train, &deck.data.validation})
    for (const DataSource& source : *sources) strangers.push_back({"data", source.file});
  strangers.push_back({"data.vocab_dir", deck.data.vocab_dir});
  if (weights == FirstWeights::after_the_move || !deck.model.init_weights.ends_with(".h5"))
    strangers.push_back({"model.init_weights", deck.model.init_weights});
  for (const auto& fault : deck.inject) strangers.push_back({"a trace", fault.trace});
  strangers.push_back({"the working directory", fs::current_path()});
  return strangers;
}

}  // namespace

bool holds_run(const fs::path& directory) {
  std::error_code ignored;
  for (const char* name : {"deck.toml", "events.jsonl", "metrics.jsonl"})
    if (fs::exists(directory / name, ignored)) return true;
  return holds_more_than_lock(directory / "checkpoints");
}

void check_old_run_moves_alone(const Deck& deck, const fs::path& deck_file, FirstWeights weights) {
  const fs::path run = deck.run.output_dir;
  if (!deck.run.never_resumes() || !holds_run(run)) return;
  for (const auto& [what, path] : what_is_to_stay(deck, deck_file, weights))
    if (!path.empty() && lies_in(path, run))
      throw kernels::Error(kernels::Scope::rank, "run.resume = \"never\" would move " + run.string() +
                                                     " to " + free_name_beside(run).string() +
                                                     ", and with it what no run wrote: " + what + ", " +
                                                     path.string() + "; choose another run.output_dir");
}

fs::path move_run_aside(const fs::path& directory) {
  std::error_code error;
  fs::path target = free_name_beside(directory);
  fs::rename(directory, target, error);
  if (!error) return target;
  throw kernels::Error(kernels::Scope::rank, "run directory " + directory.string() +
                                                 ": cannot move the old run to " + target.string() + ": " +
                                                 error.message() +
                                                 "; make it writable or choose another with run.output_dir");
}

}  // namespace tenax::io
