#include "resilience/diagnosis/probe_sizes.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

using Sizes = std::vector<std::size_t>;

const std::vector<double> kMb = {16, 32, 64};

double all_s(const Sizes& sizes, const ProbeBudget& budget) {
  double seconds = 0;
  for (const std::size_t bytes : sizes) seconds += probe_seconds(static_cast<double>(bytes), budget);
  return seconds;
}

TEST(ProbeSizes, count_rounds_directions_and_repetitions) {
  const ProbeBudget budget{.seconds = 3, .rounds = 2, .exchange_s = 0.001, .bytes_per_s = 1e9};
  EXPECT_NEAR(probe_seconds(16e6, budget), 2 * 2 * 3 * (0.001 + 0.016), 1e-9);
}

TEST(ProbeSizes, are_those_asked_for_where_they_fit) {
  const ProbeBudget fast{.seconds = 3, .rounds = 2, .exchange_s = 1e-5, .bytes_per_s = 1e10};
  EXPECT_EQ(probe_sizes(kMb, fast), (Sizes{16'000'000, 32'000'000, 64'000'000}));
  const std::vector<double> unordered = {64, 0.001, 16};
  EXPECT_EQ(probe_sizes(unordered, fast), (Sizes{1000, 16'000'000, 64'000'000}));
  EXPECT_EQ(probe_sizes(kMb, {.seconds = 3, .rounds = 63}).size(), 3U) << "a bandwidth that is not known";
}

TEST(ProbeSizes, are_cut_by_one_factor_so_that_they_fit) {
  const ProbeBudget slow{.seconds = 3, .rounds = 7, .exchange_s = 1e-3, .bytes_per_s = 1e8};
  const Sizes sizes = probe_sizes(kMb, slow);
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_NEAR(all_s(sizes, slow), 3, 1e-3);
  EXPECT_NEAR(static_cast<double>(sizes[1]) / static_cast<double>(sizes[0]), 2, 1e-5);
  EXPECT_NEAR(static_cast<double>(sizes[2]) / static_cast<double>(sizes[0]), 4, 1e-5);
}

TEST(ProbeSizes, are_not_cut_below_a_kibibyte) {
  const ProbeBudget tight{.seconds = 3, .rounds = 63, .exchange_s = 2.5e-3, .bytes_per_s = 1e7};
  const Sizes sizes = probe_sizes(kMb, tight);
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0], 1024U);
  EXPECT_LE(all_s(sizes, tight), 3);
  const std::vector<double> small = {0.001, 64};
  EXPECT_EQ(probe_sizes(small, tight)[0], 1000U) << "what was asked for is smaller";
}

TEST(ProbeSizes, are_none_where_not_even_the_least_fit) {
  EXPECT_TRUE(probe_sizes(kMb, {.seconds = 3, .rounds = 63, .exchange_s = 0.1, .bytes_per_s = 1e9}).empty());
  EXPECT_TRUE(probe_sizes(kMb, {.seconds = -1, .rounds = 2, .exchange_s = 1e-6, .bytes_per_s = 1e9}).empty());
}

}  // namespace
}  // namespace tenax::resilience
