#include "io/run/run_lock.hpp"

#include <string>
#include <system_error>

#include "io/deck/deck.hpp"
#include "io/run/old_run.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

/// `tenax launch` locks the whole run, and each replica's rank 0 its own part of it, which may outlive the launcher.
std::vector<fs::path> replica_directories(const fs::path& run) {
  std::vector<fs::path> directories;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run, ignored))
    if (entry.path().filename().string().starts_with("replica-")) directories.push_back(entry.path());
  return directories;
}

}  // namespace

RunLock::RunLock(const Deck& deck, Replicas replicas)
    : run_(deck.run.output_dir), checkpoint_directory_(deck.checkpoint.dir) {
  if (replicas == Replicas::must_be_gone)
    for (const fs::path& replica : replica_directories(deck.run.output_dir))
      DirectoryLock::check_free(replica);
  std::error_code ignored;
  const fs::path checkpoints = deck.checkpoint.dir;
  if (checkpoints == deck.run.output_dir) return;
  if (deck.checkpoint.interval >= 0 || fs::is_directory(checkpoints, ignored))
    checkpoints_.emplace(checkpoints, DirectoryLock::Use::checkpoints);
}

std::vector<fs::path> RunLock::directories(const Deck& deck) {
  std::vector<fs::path> all = replica_directories(deck.run.output_dir);
  all.push_back(deck.run.output_dir);
  if (fs::path(deck.checkpoint.dir) != deck.run.output_dir) all.push_back(deck.checkpoint.dir);
  return all;
}

std::optional<fs::path> RunLock::move_old_run(const Deck& deck) {
  if (!deck.run.never_resumes() || !holds_run(deck.run.output_dir)) return {};
  const fs::path moved_to = move_run_aside(deck.run.output_dir);
  run_.renew();
  if (checkpoints_) checkpoints_->renew();
  return moved_to;
}

bool RunLock::in_place() const {
  if (!run_.in_place()) return false;
  std::error_code ignored;
  return !checkpoints_ || checkpoints_->in_place() ||
         (lacks_checkpoints_ && !fs::is_directory(checkpoint_directory_, ignored));
}

std::optional<std::string> RunLock::renew() {
  run_.renew();
  lacks_checkpoints_ = false;
  if (checkpoints_) try {
      checkpoints_->renew();
    } catch (const kernels::Error& error) {
      lacks_checkpoints_ = true;
      return error.what();
    }
  return {};
}

}  // namespace tenax::io
