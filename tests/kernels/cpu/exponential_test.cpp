// Compiled with the flags of the kernel files (see CMakeLists.txt), which is where the promise must hold.
#include "kernels/cpu/exponential.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::kernels {
namespace {

class Exponential : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__FMA__)
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2"))
      GTEST_SKIP() << "this processor has no fused multiply-add";
#endif
  }
};

// The largest error of f over [lowest, highest], in units in the last place of the exact value.
template <class Function>
double worst_error(float lowest, float highest, const Function& f) {
  std::vector<float> x, y;
  for (float value = lowest; value < highest; value += 1.37e-4f) x.push_back(value);
  for (float value = 1e-30f; value < 1.0f; value *= 1.01f) x.push_back(-value);
  y.resize(x.size());
  const float* const input = x.data();
  float* const output = y.data();
#pragma omp simd
  for (std::size_t i = 0; i < x.size(); ++i) output[i] = f(input[i]);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / ulp);
  }
  return worst;
}

TEST_F(Exponential, is_within_one_ulp_or_one_and_a_half_without_fused_multiply_add) {
  const double allowed = TENAX_HAS_FMA ? 1.0 : 1.5;
  const double any = worst_error(-87.3f, 88.3f, [](float x) { return exponential(x); });
  const double up_to_one = worst_error(-87.3f, 0.1f, [](float x) { return exponential_up_to_one(x); });
  EXPECT_LE(any, allowed);
  EXPECT_LE(up_to_one, allowed);
  EXPECT_GT(any, 0.4) << "a float cannot be closer than half a unit: the measure itself is wrong";
}

TEST_F(Exponential, vanishes_and_saturates_at_the_ends) {
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-88.0f), 0.0f);
  EXPECT_EQ(exponential(-1e30f), 0.0f);
  EXPECT_EQ(exponential(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_GT(exponential(1e30f), 2.3e38f);
  EXPECT_EQ(exponential_up_to_one(0.0f), 1.0f);
  EXPECT_EQ(exponential_up_to_one(-88.0f), 0.0f);
  EXPECT_EQ(exponential_up_to_one(-std::numeric_limits<float>::infinity()), 0.0f);
}

TEST_F(Exponential, of_not_a_number_is_not_a_number) {
  // With every payload bit set too, as uninitialised memory often has.
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(exponential(std::bit_cast<float>(bits)))) << bits;
    EXPECT_TRUE(std::isnan(exponential_up_to_one(std::bit_cast<float>(bits)))) << bits;
  }
}

}  // namespace
}  // namespace tenax::kernels
