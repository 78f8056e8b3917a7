// How near a result is to what was expected, whatever the size of the values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tenax::kernels::test {

/// The norm of the difference, relative to the norm of what was expected.
template <class Actual, class Expected>
double relative_error(const Actual& actual, const Expected& expected) {
  double difference = 0, norm = 0;
  EXPECT_EQ(static_cast<std::int64_t>(actual.size()), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(expected.size()); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);  // NaN passes no comparison
}

/// Whether each |actual − expected| is within `tolerance` of |expected|, or of `floor` times the root mean square of all that is
/// expected where that is larger: there results are small because large terms cancel. Both have size() and [].
template <class Actual, class Expected>
testing::AssertionResult are_near(const Actual& actual, const Expected& expected, double tolerance,
                                  double floor = 1.0) {
  const auto size = static_cast<std::int64_t>(expected.size());
  if (static_cast<std::int64_t>(actual.size()) != size)
    return testing::AssertionFailure() << actual.size() << " values, expected " << size;
  double squares = 0;
  for (std::int64_t i = 0; i < size; ++i) squares += expected[i] * expected[i];
  const double least = floor * std::sqrt(squares / static_cast<double>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    const double allowed = tolerance * std::max(least, std::abs(expected[i]));
    if (std::abs(actual[i] - expected[i]) <= allowed) continue;  // NaN passes no comparison
    return testing::AssertionFailure()
           << "element " << i << " is " << actual[i] << ", expected " << expected[i] << " within " << allowed;
  }
  return testing::AssertionSuccess();
}

}  // namespace tenax::kernels::test
