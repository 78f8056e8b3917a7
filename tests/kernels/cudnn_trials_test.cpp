// The choice among cuDNN's candidates on machines without a GPU: plans that only have a name, run by the test, on a
// clock that runs of theirs move.
#include "kernels/cuda/cudnn_trials.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/fake_cublaslt.hpp"

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = nullptr;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }

namespace tenax::kernels::cuda {

/// Named by their numbers.
std::vector<CudnnPlan> CudnnPlan::find(cudnnHandle_t, const CudnnGraph&, bool, std::size_t count) {
  std::vector<CudnnPlan> plans;
  for (std::size_t i = 0; i < count; ++i)
    plans.push_back(
        CudnnPlan(CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 0, std::to_string(i)));
  return plans;
}

namespace test {
namespace {

struct Candidate {
  double seconds;
  float result;
};

class CudnnTrials : public testing::Test {
 protected:
  CudnnTrials() { FakeLibrary::instance() = {}; }

  std::size_t best_of_all(bool same_bits) {
    const auto plans = CudnnPlan::find(nullptr, {}, same_bits, candidates_.size());
    const auto run = [this](const CudnnPlan& plan) {
      const Candidate& candidate = candidates_[std::stoul(plan.name())];
      FakeLibrary::instance().clock_s += candidate.seconds;
      output_[0] = candidate.result;
      ++runs_;
    };
    const Tensor outputs[] = {{output_, DType::f32, {2}}};
    return best_plan(nullptr, plans, same_bits, {run, outputs});
  }

  std::vector<Candidate> candidates_{{3e-3, 1}, {1e-3, 2}, {2e-3, 1}};
  float output_[2] = {};
  int runs_ = 0;
};

TEST_F(CudnnTrials, take_the_fastest_candidate_that_writes_the_bits_of_the_first) {
  EXPECT_EQ(best_of_all(true), 2U);
}

TEST_F(CudnnTrials, take_the_fastest_of_all_where_runs_may_differ) { EXPECT_EQ(best_of_all(false), 1U); }

TEST_F(CudnnTrials, run_nothing_without_memory_for_them_and_take_the_first) {
  FakeLibrary::instance().has_memory = false;
  EXPECT_EQ(best_of_all(true), 0U);
  FakeLibrary::instance() = {};
  FakeLibrary::instance().has_pool = false;
  EXPECT_EQ(best_of_all(false), 0U);
  EXPECT_EQ(runs_, 0);
}

}  // namespace
}  // namespace test
}  // namespace tenax::kernels::cuda
