#include "parallel/layout/batch_plan.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/parallel/expect_error.hpp"

namespace tenax::parallel {
namespace {

/// All samples of plans from `first` on, in the order data ranks, microbatches, sequences.
std::vector<std::int64_t> samples_of(std::int64_t micro_batch_size, const std::vector<int>& microbatches,
                                     std::int64_t first) {
  std::vector<std::int64_t> samples;
  for (std::size_t rank = 0; rank < microbatches.size(); ++rank) {
    const BatchPlan plan(first, micro_batch_size, microbatches, static_cast<int>(rank));
    for (int microbatch = 0; microbatch < plan.microbatches(); ++microbatch)
      for (std::int64_t i = 0; i < micro_batch_size; ++i) samples.push_back(plan.sample_index(microbatch, i));
  }
  return samples;
}

std::vector<std::int64_t> counting_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(BatchPlan, computes_every_sample_of_a_step_once_whatever_the_layout) {
  for (const std::int64_t micro_batch_size : {1, 2, 4})
    for (const int ranks : {1, 2, 4})
      for (const std::int64_t first : {0, 16, 16000, 7}) {
        const BatchPlan plan = BatchPlan::uniform({first, 16}, micro_batch_size, ranks, 0);
        const std::vector<int> microbatches(static_cast<std::size_t>(ranks), plan.microbatches());
        EXPECT_EQ(plan.samples(), (SampleRange{first, 16}));
        EXPECT_EQ(samples_of(micro_batch_size, microbatches, first), counting_from(first, 16));
      }
}

TEST(BatchPlan, lets_pipelines_compute_different_numbers_of_microbatches) {
  EXPECT_EQ(samples_of(2, {3, 1, 2}, 60), counting_from(60, 12));
  const BatchPlan second(0, 2, {3, 1, 2}, 1);
  EXPECT_EQ(second.microbatches(), 1);
  EXPECT_EQ(second.microbatches_of(2), 2);
  EXPECT_EQ(second.sample_index(0, 0), 6);
}

TEST(BatchPlan, may_have_nothing_to_compute) {
  const BatchPlan plan(40, 2, {0, 0}, 1);
  EXPECT_EQ(plan.microbatches(), 0);
  EXPECT_EQ(plan.samples(), (SampleRange{40, 0}));
}

TEST(BatchPlan, refuses_a_batch_that_does_not_divide) {
  for (const std::int64_t batch : {0, 6, 7})
    expect_error(kernels::Scope::usage, {"batch.global_batch_size = " + std::to_string(batch), "2 × 2"}, [&] {
      BatchPlan::uniform({0, batch}, 2, 2, 0);
    });
}

}  // namespace
}  // namespace tenax::parallel
