#include "parallel/schedule/dependency_walk.hpp"

#include "kernels/error.hpp"

namespace tenax::parallel {

bool DependencyWalk::ready(int stage, const PipelineOp& op) const {
  if (op.pass == Pass::forward) return stage == 0 || forward_done_[at(stage - 1, op.microbatch)];
  if (op.pass == Pass::backward_weight) return gradient_done_[at(stage, op.microbatch)];
  return forward_done_[at(stage, op.microbatch)] &&
         (stage + 1 == schedule_.stages() || gradient_done_[at(stage + 1, op.microbatch)]);
}

int DependencyWalk::finish(int stage, const PipelineOp& op) {
  if (op.pass == Pass::backward_weight) return -1;
  const bool forward = op.pass == Pass::forward;
  (forward ? forward_done_ : gradient_done_)[at(stage, op.microbatch)] = 1;
  return forward ? stage + 1 : stage - 1;
}

std::string DependencyWalk::describe_wait(int stage, const PipelineOp& op) const {
  const std::string number = std::to_string(op.microbatch);
  std::string input = "its own F" + number;
  if (op.pass == Pass::forward) input = "F" + number + " of stage " + std::to_string(stage - 1);
  if (op.pass == Pass::backward_weight) input = "its own B" + number;
  if (gives_input_gradient(op.pass) && forward_done_[at(stage, op.microbatch)])
    input = "the backward of microbatch " + number + " of stage " + std::to_string(stage + 1);
  return "stage " + std::to_string(stage) + " at " + to_string(op) + " waits for " + input;
}

void DependencyWalk::throw_if_blocked() const {
  std::string waits;
  for (int stage = 0; stage < schedule_.stages(); ++stage) {
    const auto& ops = schedule_.ops_of_stage[static_cast<std::size_t>(stage)];
    const std::size_t next = next_of_stage_[static_cast<std::size_t>(stage)];
    if (next < ops.size()) waits += (waits.empty() ? "" : "; ") + describe_wait(stage, ops[next]);
  }
  if (!waits.empty())
    throw kernels::Error(kernels::Scope::operation, "pipeline schedule deadlocks: " + waits);
}

}  // namespace tenax::parallel
