#include "io/run/lock_watch.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "io/run/directory_lock.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

LockWatch::LockWatch(const std::vector<fs::path>& directories, double patience_s)
    : patience_s_(patience_s), end_(kernels::Deadline::after_s(patience_s)) {
  const LockOwner me = LockOwner::this_process();
  for (const fs::path& directory : directories) {
    const auto lock = DirectoryLock::look_at(directory);
    if (!lock || lock->state == LockState::held || !lock->owner || !lock->owner->beats) continue;
    if (lock->owner->host == me.host || lock_obstacle(directory, lock->state, lock->owner, me).empty())
      continue;
    watched_.push_back({directory, *lock->owner, lock->file, lock->changed_ns});
  }
}

std::string LockWatch::text() const {
  const Watched& first = watched_.front();
  return first.directory.string() + " was locked by " + description(first.owner) + ": looking for " +
         std::to_string(std::lround(patience_s_)) + " s whether it still runs";
}

void LockWatch::look() {
  std::erase_if(watched_, [](const Watched& watched) {
    const auto now = DirectoryLock::look_at(watched.directory);
    const bool lives = now && (now->file != watched.file || now->changed_ns != watched.changed_ns);
    if (lives)
      throw kernels::Error(kernels::Scope::rank, lock_obstacle(watched.directory, LockState::held, now->owner,
                                                               LockOwner::this_process()));
    return !now;
  });
  if (!end_.expired()) return;
  for (const Watched& watched : watched_) DirectoryLock::discard(watched.directory);
  watched_.clear();
}

}  // namespace tenax::io
