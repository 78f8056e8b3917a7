// StepGraph: the work of a step as one launch, where the device can capture.
#pragma once

#include <functional>
#include <memory>

#include "kernels/device.hpp"

namespace tenax::parallel {

/// The first call runs the work as it is, so that libraries choose algorithms and allocate. The
/// second captures it. From then on the graph is launched. The work must be the same on the same
/// memory each time; it reads what differs from step to step from memory that is filled before.
class StepGraph {
 public:
  /// `stream` must outlive the graph.
  explicit StepGraph(kernels::Stream& stream) : stream_(stream) {}

  void run(const std::function<void()>& work) {
    if (!is_warm_) {
      work();
      is_warm_ = true;
      return;
    }
    if (!graph_) {
      stream_.begin_capture();
      work();
      graph_ = stream_.end_capture();
    }
    stream_.launch(*graph_);
  }

 private:
  kernels::Stream& stream_;
  bool is_warm_ = false;
  std::unique_ptr<kernels::Graph> graph_;
};

}  // namespace tenax::parallel
