#include "kernels/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace tenax::kernels {
namespace {

// The known answers that Random123 ships (kat_vectors, "philox4x32 10").
TEST(Philox, gives_the_known_answers_of_random123) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Checkpoints and decks rely on these: a change would give every run other weights and another order of data.
TEST(CounterRandom, never_changes) {
  const CounterRandom random(1, "wte.weight");
  EXPECT_EQ(random.bits(0), CounterRandom(1, "wte.weight").bits(0));
  EXPECT_EQ(random.bits(0), 0x83f61734afd36c0eu);
  EXPECT_EQ(random.bits(1), 0x895787058b95bfd0u);
  EXPECT_EQ(random.bits(std::uint64_t{1} << 40), 0x8933c8c3e6c71274u);
}

TEST(CounterRandom, differs_by_seed_name_and_index) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (const std::uint64_t seed : {0, 1, 2})
    for (const std::string name : {"", "a", "b", "ab", "ba", "h.0.mlp.c_fc.weight", "h.1.mlp.c_fc.weight"})
      for (std::uint64_t index = 0; index < 100; ++index, ++drawn)
        seen.insert(CounterRandom(seed, name).bits(index << (index % 50)));
  EXPECT_GE(seen.size() + 3 * 7 * 50, drawn);  // shifted indices may coincide, draws may not
  EXPECT_NE(CounterRandom(1, "a").bits(0), CounterRandom(2, "a").bits(0));
}

TEST(CounterRandom, uniforms_fill_the_unit_interval_evenly) {
  const CounterRandom random(3, "uniform");
  constexpr int kBins = 16, kDraws = 160000;
  int count[kBins] = {};
  for (std::uint64_t index = 0; index < kDraws; ++index) {
    const double u = random.uniform(index);
    ASSERT_TRUE(u >= 0 && u < 1);
    ++count[static_cast<int>(u * kBins)];
  }
  for (const int c : count) EXPECT_NEAR(c, kDraws / kBins, 500);  // five standard deviations
}

TEST(CounterRandom, normals_have_the_moments_of_a_normal) {
  const CounterRandom random(3, "normal");
  constexpr int kDraws = 200000;
  double sum[5] = {};
  for (std::uint64_t index = 0; index < kDraws; ++index)
    for (int power = 1; power <= 4; ++power) sum[power] += std::pow(random.normal(index), power) / kDraws;
  EXPECT_NEAR(sum[1], 0.0, 0.012);
  EXPECT_NEAR(sum[2], 1.0, 0.016);
  EXPECT_NEAR(sum[3], 0.0, 0.045);
  EXPECT_NEAR(sum[4], 3.0, 0.12);
}

TEST(CounterRandom, neighbouring_normals_are_uncorrelated) {
  const CounterRandom random(3, "normal");
  constexpr int kDraws = 100000;
  double sum = 0;
  for (std::uint64_t index = 0; index < kDraws; ++index)
    sum += random.normal(index) * random.normal(index + 1) / kDraws;
  EXPECT_NEAR(sum, 0.0, 0.017);
}

}  // namespace
}  // namespace tenax::kernels
