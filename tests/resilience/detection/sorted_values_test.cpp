#include "resilience/detection/sorted_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace tenax::resilience {
namespace {

double deviation(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value - median_of(values));
  return sum;
}

TEST(SortedValues, knows_what_a_value_adds_to_the_deviation) {
  SortedValues sorted;
  std::vector<double> values;
  double sum = 0;
  for (int i = 0; i < 50; ++i) {
    const double value = i * 37 % 23;
    sum += sorted.deviation_of(value);
    sorted.insert(value);
    values.push_back(value);
    EXPECT_NEAR(sum, deviation(values), 1e-9) << i;
  }
}

TEST(SlidingMedian, is_that_of_the_last_values) {
  SlidingMedian median(5);
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back(i * 31 % 17);
    median.add(values.back());
    const std::size_t first = values.size() - std::min<std::size_t>(5, values.size());
    EXPECT_EQ(median.median(), median_of(std::span(values).subspan(first)));
  }
  median.clear();
  EXPECT_TRUE(median.is_empty());
}

TEST(MedianOf, two_in_the_middle_is_their_mean_or_one_of_them) {
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 3}), 3);
  EXPECT_EQ(lower_median_of({4, 1, 3, 2}), 2);
  EXPECT_EQ(upper_median_of({4, 1, 3, 2}), 3);
  EXPECT_EQ(upper_median_of({}), 0);
}

}  // namespace
}  // namespace tenax::resilience
