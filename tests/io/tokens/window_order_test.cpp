#include "io/tokens/window_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenax::io {
namespace {

WindowOrder shuffled(std::int64_t windows, std::int64_t seed = 1) {
  return {SampleOrder::shuffled, seed, windows};
}

std::vector<std::int64_t> epoch_of(const WindowOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < order.windows(); ++i)
    windows.push_back(order.window_of(epoch * order.windows() + i));
  return windows;
}

/// In how many places two epochs agree.
std::int64_t agreements(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i];
  return count;
}

TEST(WindowOrder, has_a_window_for_every_length_whose_last_target_exists) {
  EXPECT_EQ(WindowOrder::windows_in(9, 8), 1);
  EXPECT_EQ(WindowOrder::windows_in(16, 8), 1);
  EXPECT_EQ(WindowOrder::windows_in(17, 8), 2);
}

TEST(WindowOrder, sequential_is_file_order_again_and_again) {
  const WindowOrder order(SampleOrder::sequential, 7, 3);
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < 7; ++i) windows.push_back(order.window_of(i));
  EXPECT_EQ(windows, (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(WindowOrder, shuffled_has_every_window_once_in_every_epoch) {
  for (const std::int64_t windows : {1, 2, 3, 4, 5, 7, 16, 17, 64, 65, 1000, 4097}) {
    const WindowOrder order = shuffled(windows);
    ASSERT_EQ(order.windows(), windows);
    for (const std::int64_t epoch : {0, 1, 2, 1000000}) {
      auto seen = epoch_of(order, epoch);
      std::sort(seen.begin(), seen.end());
      for (std::int64_t i = 0; i < windows; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i) << windows;
    }
  }
}

// Two random permutations agree in one place on average, in 20 or more once in 10^18.
TEST(WindowOrder, shuffled_is_another_permutation_each_epoch) {
  const WindowOrder order = shuffled(1000);
  EXPECT_LT(agreements(epoch_of(order, 0), epoch_of(order, 1)), 20);
  EXPECT_LT(agreements(epoch_of(order, 1), epoch_of(order, 2)), 20);
}

TEST(WindowOrder, shuffled_is_another_permutation_for_each_seed) {
  EXPECT_LT(agreements(epoch_of(shuffled(1000, 1), 0), epoch_of(shuffled(1000, 2), 0)), 20);
}

TEST(WindowOrder, shuffled_is_not_file_order) {
  std::vector<std::int64_t> file_order(1000);
  for (std::size_t i = 0; i < 1000; ++i) file_order[i] = static_cast<std::int64_t>(i);
  EXPECT_LT(agreements(epoch_of(shuffled(1000), 0), file_order), 20);
}

TEST(WindowOrder, shuffled_is_the_same_for_the_same_seed) {
  EXPECT_EQ(epoch_of(shuffled(100, 5), 3), epoch_of(shuffled(100, 5), 3));
}

// Over many epochs each of 10 windows comes first equally often: a chi-squared of 9 degrees of freedom.
TEST(WindowOrder, shuffled_puts_every_window_first_equally_often) {
  constexpr std::int64_t kWindows = 10, kEpochs = 20000;
  const WindowOrder order = shuffled(kWindows);
  std::vector<double> times_first(kWindows);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    times_first[static_cast<std::size_t>(order.window_of(epoch * kWindows))] += 1;
  }
  double chi_squared = 0;
  const double expected = static_cast<double>(kEpochs) / kWindows;
  for (const double count : times_first) chi_squared += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_squared, 33.7);  // exceeded once in 10^4 by chance; the numbers are fixed
}

// A neighbour in one epoch says nothing of the neighbour in the order: the correlation of successive windows.
TEST(WindowOrder, shuffled_does_not_keep_neighbours_together) {
  const auto windows = epoch_of(shuffled(10000), 0);
  double sum = 0;
  const double mean = 9999.0 / 2, variance = (1e8 - 1) / 12;
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) {
    sum += (static_cast<double>(windows[i]) - mean) * (static_cast<double>(windows[i + 1]) - mean);
  }
  EXPECT_LT(std::abs(sum / 9999 / variance), 0.05);  // five standard deviations
}

TEST(WindowOrder, reaches_samples_of_a_run_of_any_length) {
  const WindowOrder order = shuffled(std::int64_t{1} << 40);
  const std::int64_t window = order.window_of(std::int64_t{1} << 62);
  EXPECT_GE(window, 0);
  EXPECT_LT(window, order.windows());
}

// So that a run resumed by another build goes on where it was. The numbers are this implementation's.
TEST(WindowOrder, shuffled_order_stays_what_it_was) {
  std::vector<std::int64_t> first;
  for (std::int64_t i = 0; i < 8; ++i) first.push_back(shuffled(1000).window_of(i));
  EXPECT_EQ(first, (std::vector<std::int64_t>{397, 753, 50, 233, 26, 32, 542, 981}));
}

}  // namespace
}  // namespace tenax::io
