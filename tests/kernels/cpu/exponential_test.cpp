// Compiled with the flags of the kernel files (see CMakeLists.txt), which is where the promise must hold.
#include "kernels/cpu/exponential.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::kernels {
namespace {

TEST(Exponential, is_within_one_ulp) {
  std::vector<float> x, y;
  for (float value = -87.3f; value < 88.3f; value += 1.37e-4f) x.push_back(value);
  for (float value = 1e-30f; value < 1.0f; value *= 1.01f) x.push_back(value), x.push_back(-value);
  y.resize(x.size());
  const float* const input = x.data();
  float* const output = y.data();
#pragma omp simd
  for (std::size_t i = 0; i < x.size(); ++i) output[i] = exponential(input[i]);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / ulp);
  }
  EXPECT_LE(worst, 1.0);
  EXPECT_GT(worst, 0.4) << "a float cannot be closer than half a unit: the measure itself is wrong";
}

TEST(Exponential, vanishes_and_saturates_at_the_ends) {
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-88.0f), 0.0f);
  EXPECT_EQ(exponential(-1e30f), 0.0f);
  EXPECT_EQ(exponential(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_GT(exponential(1e30f), 2.3e38f);
}

TEST(Exponential, of_not_a_number_is_not_a_number) {
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace tenax::kernels
