// Named ranges for a profiler's time line; their names are those of trace.json ("F3", "B3", "W3", "send
// activation 3").
#pragma once

#include "kernels/device.hpp"

namespace tenax::kernels {

/// Names what the calling thread enqueues while this lives. Costs nothing where no profiler runs. Thread
/// rule: the thread that made it; ranges of a thread nest.
class Range {
 public:
  Range(Device& device, const char* name) : device_(device) { device_.push_range(name); }
  ~Range() { device_.pop_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Device& device_;
};

}  // namespace tenax::kernels
