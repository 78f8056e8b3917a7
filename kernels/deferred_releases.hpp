// DeferredReleases: memory that its owners have let go of while streams may still use it, until they are through with it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include "kernels/deadline.hpp"

namespace tenax::kernels {

/// An owner never waits: what a stream may use that stands until a failover ends its message is kept at least that long.
/// Thread rule: any thread.
class DeferredReleases {
 public:
  /// What is not through is left for the process's end.
  ~DeferredReleases();

  /// `is_through`: whether nothing uses the memory any more; once true it stays so. `free` is called once, and throws nothing.
  /// Both hold what they need.
  void add(std::function<bool()> is_through, std::function<void()> free) noexcept;
  /// Frees what is through now.
  void collect() noexcept;
  /// Waits until all is, and frees it; false, with the rest kept, on expiry.
  bool collect_all(Deadline deadline) noexcept;
  std::size_t count() const;

 private:
  struct Release {
    std::function<bool()> is_through;
    std::function<void()> free;
  };
  mutable std::mutex mutex_;
  std::deque<Release> releases_;
};

}  // namespace tenax::kernels
