// StepGraph: the passes of a step as one launch, where the device can capture.
#pragma once

#include <functional>
#include <memory>

#include "kernels/device.hpp"

namespace tenax::app {

/// The first call runs the passes as they are, so that libraries have chosen and taken all they need; the second captures
/// them; from then on the graph is launched. The passes must enqueue the same work on the same memory each time.
class StepGraph {
 public:
  /// `stream` must outlive the graph.
  explicit StepGraph(kernels::Stream& stream) : stream_(stream) {}

  void run(const std::function<void()>& passes);

 private:
  kernels::Stream& stream_;
  bool is_warm_ = false;
  std::unique_ptr<kernels::Graph> graph_;
};

}  // namespace tenax::app
