#include "model/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

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

/// The definition, by sorting everything.
std::int32_t plainly_sampled(const std::vector<float>& logits, const SamplerSettings& settings,
                             double uniform) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logit(a) > logit(b); });
  if (settings.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(settings.top_k)));
  double total = 0, kept = 0;
  for (const std::int32_t token : order) total += std::exp(logit(token) / settings.temperature);
  std::vector<double> below;  // probability of all likelier ones
  for (const std::int32_t token : order) {
    if (!below.empty() && kept >= settings.top_p * total) break;
    below.push_back(kept);
    kept += std::exp(logit(token) / settings.temperature);
  }
  const auto next = std::upper_bound(below.begin(), below.end(), uniform * kept);
  return order[static_cast<std::size_t>(next - below.begin()) - 1];
}

TEST(Sampler, large_vocabularies_are_sampled_as_if_all_of_them_were_sorted) {
  const kernels::CounterRandom random(1, "logits");
  std::vector<float> logits;
  for (std::uint64_t i = 0; i < 3000; ++i)  // of both signs, zeros too
    logits.push_back((i % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(random.bits(i) % 250) / 100);
  for (const SamplerSettings& settings : {SamplerSettings{},
                                          {.temperature = 3},
                                          {.top_k = 70},
                                          {.top_k = 1},
                                          {.top_k = 5000},
                                          {.top_p = 0.02},
                                          {.top_p = 0.7},
                                          {.temperature = 0.3, .top_k = 600, .top_p = 0.95}})
    for (int i = 0; i < 200; ++i) {
      const double uniform = (i + 0.5) / 200;
      ASSERT_EQ(sample_token(logits, settings, uniform), plainly_sampled(logits, settings, uniform))
          << "top_k " << settings.top_k << " top_p " << settings.top_p << " uniform " << uniform;
    }
}

}  // namespace
}  // namespace tenax::model
