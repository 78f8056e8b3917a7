#include "app/step_graph.hpp"

namespace tenax::app {

void StepGraph::run(const std::function<void()>& passes) {
  if (!is_warm_) {
    passes();
    is_warm_ = true;
    return;
  }
  if (!graph_) {
    stream_.begin_capture();
    passes();
    graph_ = stream_.end_capture();
  }
  stream_.launch(*graph_);
}

}  // namespace tenax::app
