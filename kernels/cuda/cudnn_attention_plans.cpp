#include "kernels/cuda/cudnn_attention_plans.hpp"

#include <algorithm>

#include "kernels/cuda/cudnn_trials.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

/// The heuristics' order is good: what comes later is rarely faster.
constexpr std::size_t kCandidates = 4;

const std::string kNoPlan = "none";

void check_capture(cudaStream_t stream) {
  if (is_captured(stream))
    throw Error(
        Scope::rank,
        "attention that is being captured has no plan yet: run it once with these shapes before the capture");
}

std::string text_of(const char* pass, const AttentionShape& shape) {
  return std::string("attention, ") + pass + ", " + std::to_string(shape.sequences) + " sequences of " +
         std::to_string(shape.length) + ", " + std::to_string(shape.heads) + " heads of " +
         std::to_string(shape.head_size);
}

const char* name_of(QuerySums sums) {
  return sums == QuerySums::apart ? "backward, sums apart" : "backward, from scores";
}

}  // namespace

cudnnHandle_t CudnnAttentionPlans::handle_on(cudaStream_t stream) {
  if (!handle_) handle_.emplace();
  TENAX_CUDNN_CHECK(cudnnSetStream(handle_->get(), stream));
  return handle_->get();
}

const CudnnPlanned<CudnnForwardGraph>& CudnnAttentionPlans::forward(cudaStream_t stream,
                                                                    const AttentionShape& shape,
                                                                    const Run<CudnnForwardGraph>& run,
                                                                    std::span<const Tensor> outputs) {
  if (const auto known = forward_of_shape_.find(shape); known != forward_of_shape_.end())
    return known->second;
  check_capture(stream);
  CudnnPlanned<CudnnForwardGraph> planned(shape);
  planned.plan = choose(stream, text_of("forward", shape), planned.graph.graph,
                        {[&](const CudnnPlan& plan) { run(planned.graph, plan); }, outputs});
  return forward_of_shape_.emplace(shape, std::move(planned)).first->second;
}

const CudnnPlanned<CudnnBackwardGraph>& CudnnAttentionPlans::backward(cudaStream_t stream,
                                                                      const AttentionShape& shape,
                                                                      QuerySums sums,
                                                                      const Run<CudnnBackwardGraph>& run,
                                                                      std::span<const Tensor> outputs) {
  if (const auto* const known = known_backward(shape, sums)) return *known;
  check_capture(stream);
  CudnnPlanned<CudnnBackwardGraph> planned(shape, sums);
  planned.plan = choose(stream, text_of(name_of(sums), shape), planned.graph.graph,
                        {[&](const CudnnPlan& plan) { run(planned.graph, plan); }, outputs});
  return backward_of_shape_.emplace(std::pair(shape, sums), std::move(planned)).first->second;
}

const CudnnPlanned<CudnnBackwardGraph>* CudnnAttentionPlans::known_backward(const AttentionShape& shape,
                                                                            QuerySums sums) const {
  const auto known = backward_of_shape_.find({shape, sums});
  return known == backward_of_shape_.end() ? nullptr : &known->second;
}

std::optional<CudnnPlan> CudnnAttentionPlans::choose(cudaStream_t stream, const std::string& what,
                                                     const CudnnGraph& graph, const CudnnTrial& trial) {
  const auto earlier = choices_.earlier(what);
  const bool may_try = choices_.may_try() && !trial.outputs.empty(), needs_one = !earlier && !may_try;
  auto plans = CudnnPlan::find(handle_->get(), graph, choices_.deterministic(), needs_one ? 1 : kCandidates);
  const auto again = std::find_if(plans.begin(), plans.end(),
                                  [&](const CudnnPlan& plan) { return earlier && plan.name() == *earlier; });
  if (earlier && again == plans.end() && !(plans.empty() && *earlier == kNoPlan)) choices_.cannot_keep(what);
  std::size_t best = 0;
  if (again != plans.end())
    best = static_cast<std::size_t>(again - plans.begin());
  else if (plans.size() > 1 && may_try)
    best = best_plan(stream, plans, choices_.deterministic(), trial);
  choices_.choose(what, plans.empty() ? kNoPlan : plans[best].name());
  if (plans.empty()) return {};
  return std::move(plans[best]);
}

}  // namespace tenax::kernels::cuda
