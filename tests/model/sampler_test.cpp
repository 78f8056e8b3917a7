#include "model/sampler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace tenax::model {
namespace {

// Probabilities 0.5, 0.25, 0.125, 0.125 for tokens 2, 0, 1, 3.
const std::array<float, 4> kLogits = {std::log(0.25F), std::log(0.125F), std::log(0.5F), std::log(0.125F)};

std::array<int, 4> counts(const SamplerSettings& settings) {
  std::array<int, 4> count{};
  constexpr int kDraws = 8000;
  for (int i = 0; i < kDraws; ++i)
    ++count[static_cast<std::size_t>(sample_token(kLogits, settings, (i + 0.5) / kDraws))];
  return count;
}

TEST(Sampler, temperature_zero_takes_the_likeliest) {
  for (const double uniform : {0.0, 0.5, 0.999})
    EXPECT_EQ(sample_token(kLogits, {.temperature = 0}, uniform), 2);
}

TEST(Sampler, draws_in_proportion_to_probability) {
  EXPECT_EQ(counts({}), (std::array<int, 4>{2000, 1000, 4000, 1000}));
}

TEST(Sampler, top_k_keeps_the_k_likeliest) {
  const auto count = counts({.top_k = 2});
  EXPECT_EQ(count[1] + count[3], 0);
  EXPECT_NEAR(count[2], 8000 * 2 / 3, 1);
}

TEST(Sampler, top_p_keeps_the_smallest_set_that_reaches_p) {
  const auto count = counts({.top_p = 0.6});
  EXPECT_EQ(count[1] + count[3], 0);
  EXPECT_GT(count[0], 0);
  EXPECT_EQ(counts({.top_p = 0.4})[2], 8000);
}

TEST(Sampler, a_low_temperature_sharpens) {
  EXPECT_GT(counts({.temperature = 0.5})[2], counts({})[2]);
  EXPECT_LT(counts({.temperature = 2.0})[2], counts({})[2]);
}

TEST(Sampler, the_largest_uniform_number_still_picks_a_kept_token) {
  EXPECT_NE(sample_token(kLogits, {.top_k = 2}, std::nextafter(1.0, 0.0)), 3);
}

}  // namespace
}  // namespace tenax::model
