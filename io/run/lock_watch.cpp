#include "io/run/lock_watch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

LockWatch::LockWatch(const std::vector<fs::path>& directories, double patience_s)
    : patience_s_(patience_s), looked_s_(kernels::steady_now_s()), still_since_s_(looked_s_) {
  const LockOwner me = LockOwner::this_process();
  for (const fs::path& directory : directories) {
    const auto lock = DirectoryLock::look_at(directory);
    if (!lock || !lock->owner || !lock->owner->beats || lock->owner->host == me.host) continue;
    if (!lock_obstacle(directory, lock->state, lock->owner, me).empty())
      watched_.push_back({directory, *lock});
  }
}

std::string LockWatch::text() const {
  const Watched& first = watched_.front();
  return first.directory.string() + " was locked by " + description(*first.lock.owner) + ": looking for " +
         std::to_string(std::lround(patience_s_)) + " s whether it still runs";
}

void LockWatch::look() {
  constexpr double kPrompt_s = 2;  // between two looks
  std::erase_if(watched_, [](Watched& watched) {
    const auto now = DirectoryLock::look_at(watched.directory);
    if (now && !now->is_as(watched.lock))
      throw kernels::Error(kernels::Scope::rank, lock_obstacle(watched.directory, LockState::held, now->owner,
                                                               LockOwner::this_process()));
    if (now) watched.lock.state = now->state;
    return !now;
  });
  const double now_s = kernels::steady_now_s();
  if (now_s - std::exchange(looked_s_, now_s) > kPrompt_s) still_since_s_ = now_s;
  const double still_s = now_s - still_since_s_;
  if (still_s < patience_s_) return;
  std::erase_if(watched_, [&](const Watched& watched) {
    if (watched.lock.state == LockState::held && still_s < kHeld * patience_s_) return false;
    DirectoryLock::discard(watched.directory, &watched.lock);
    return true;
  });
}

}  // namespace tenax::io
