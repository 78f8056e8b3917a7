#include "parallel/replica/step_graph.hpp"

namespace tenax::parallel {

void StepGraph::run(const std::function<void()>& work) {
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

}  // namespace tenax::parallel
