#include "resilience/detection/iteration_tracker.hpp"

namespace tenax::resilience {

std::optional<Change> IterationTracker::add(std::int64_t iteration, double seconds, bool is_masked) {
  if (warmup_left_ > 0) {
    --warmup_left_;
    return {};
  }
  return is_masked ? std::nullopt : detector_->add(iteration, seconds);
}

}  // namespace tenax::resilience
