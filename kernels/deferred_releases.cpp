#include "kernels/deferred_releases.hpp"

#include <utility>

namespace tenax::kernels {

// Kept where leaks are not looked for.
DeferredReleases::~DeferredReleases() {
  static std::mutex mutex;
  static auto* const kept = new std::deque<std::deque<Release>>;
  const std::lock_guard lock(mutex);
  if (!releases_.empty()) kept->push_back(std::move(releases_));
}

void DeferredReleases::add(std::function<bool()> is_through, std::function<void()> free) noexcept {
  const std::lock_guard lock(mutex_);
  releases_.push_back({std::move(is_through), std::move(free)});
}

// Freed outside of the lock: what a release holds may be the last owner of memory that is let go of in turn.
void DeferredReleases::collect() noexcept {
  std::deque<Release> through;
  std::unique_lock lock(mutex_);
  std::erase_if(releases_, [&](Release& release) {
    const bool is_through = release.is_through();
    if (is_through) through.push_back(std::move(release));
    return is_through;
  });
  lock.unlock();
  for (const Release& release : through) release.free();
}

bool DeferredReleases::collect_all(Deadline deadline) noexcept {
  Backoff backoff;
  for (collect(); count() > 0; collect()) {
    if (deadline.expired()) return false;
    backoff.pause();
  }
  return true;
}

std::size_t DeferredReleases::count() const {
  const std::lock_guard lock(mutex_);
  return releases_.size();
}

}  // namespace tenax::kernels
