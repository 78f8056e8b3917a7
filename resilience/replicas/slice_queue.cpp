#include "resilience/replicas/slice_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tenax::resilience {

SliceQueue::SliceQueue(int slices, int sources, int first)
    : has_left_(static_cast<std::size_t>(std::max(sources, 1)), 0),
      first_(first % static_cast<int>(has_left_.size())),
      progress_(static_cast<std::size_t>(slices), Progress::wanted) {}

std::optional<int> SliceQueue::next(int source, const std::vector<int>& asked, bool waited) {
  const auto any = [](int) { return true; };
  std::optional<int> slice = find(Progress::wanted, [&](int whose) { return whose == source; });
  if (!slice)
    slice =
        find(Progress::wanted, [&](int whose) { return has_left_[static_cast<std::size_t>(whose)] != 0; });
  if (!slice && asked.empty()) slice = find(Progress::wanted, any);
  if (!slice && asked.empty() && waited) slice = find(Progress::asked, any);
  if (slice) progress_[static_cast<std::size_t>(*slice)] = Progress::asked;
  return slice;
}

bool SliceQueue::take(int slice) {
  Progress& progress = progress_.at(static_cast<std::size_t>(slice));
  const bool is_new = std::exchange(progress, Progress::here) != Progress::here;
  if (is_new) ++here_;
  return is_new;
}

void SliceQueue::leave(int source, const std::vector<int>& asked) {
  has_left_.at(static_cast<std::size_t>(source)) = 1;
  for (const int slice : asked)
    if (Progress& progress = progress_.at(static_cast<std::size_t>(slice)); progress == Progress::asked)
      progress = Progress::wanted;
}

/// `is_it`: of the source whose turn it is.
template <class Condition>
std::optional<int> SliceQueue::find(Progress progress, Condition is_it) const {
  for (int slice = 0; slice < static_cast<int>(progress_.size()); ++slice)
    if (progress_[static_cast<std::size_t>(slice)] == progress && is_it(source_of(slice))) return slice;
  return {};
}

}  // namespace tenax::resilience
