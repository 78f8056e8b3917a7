#include "resilience/replicas/own_norms.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tenax::resilience {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Norms = std::vector<OwnNorm>;

TEST(OwnNorms, doubt_who_exceeds_the_others_and_its_past_by_far) {
  EXPECT_EQ(doubtful(Norms{{4, 1, 1}, {4, 1e4, 1}, {4, 2, 1}}), 1u);
  EXPECT_EQ(doubtful(Norms{{4, 1, 0}, {4, 1e4, 0}}), 1u) << "without a past, by the others alone";
  EXPECT_EQ(doubtful(Norms{{4, 1e3, 1}, {4, 1e9, 1}, {4, 1, 1}}), 1u) << "the one that does most";
}

TEST(OwnNorms, doubt_nobody_over_what_gradients_do_by_themselves) {
  EXPECT_FALSE(doubtful(Norms{{4, 1, 1}, {4, 30, 1}}));
  EXPECT_FALSE(doubtful(Norms{{4, 1e6, 1}, {4, 2e6, 1}})) << "all of them";
  EXPECT_FALSE(doubtful(Norms{{4, 1, 1}, {4, 1e4, 1e3}})) << "as ever";
  EXPECT_FALSE(doubtful(Norms{{1, 1, 1}, {16, 256, 1}})) << "of more samples";
  EXPECT_FALSE(doubtful(Norms{{4, 1e9, 1}})) << "alone";
  EXPECT_FALSE(doubtful(Norms{{4, 1e9, 1}, {0, 0, 0}})) << "beside one that has no samples";
  EXPECT_FALSE(doubtful(Norms{{4, 0, 0}, {4, 0, 0}})) << "which tell nothing";
}

TEST(OwnNorms, doubt_who_alone_is_not_finite) {
  EXPECT_EQ(doubtful(Norms{{4, 1, 1}, {4, 1, 1}, {4, kNaN, 1}}), 2u);
  EXPECT_EQ(doubtful(Norms{{4, kInfinity, 1}, {4, 1e9, 1}, {4, 1, 1}}), 0u);
  EXPECT_FALSE(doubtful(Norms{{4, kNaN, 1}, {4, kInfinity, 1}}));
  EXPECT_FALSE(doubtful(Norms{{4, 1, 1}, {0, kNaN, 1}}));
}

TEST(OwnNorms, are_contradicted_by_more_than_rounding) {
  EXPECT_FALSE(contradicts(1e9, 1e9 * (1 + 1e-6)));
  EXPECT_TRUE(contradicts(1e9, 1));
  EXPECT_TRUE(contradicts(1, 1e9));
  EXPECT_TRUE(contradicts(kNaN, 1));
  EXPECT_FALSE(contradicts(kNaN, kInfinity)) << "it is the data";
}

TEST(UsualNorm, is_the_largest_of_the_last_steps_of_any_number_of_samples) {
  UsualNorm usual;
  for (int i = 0; i < 3; ++i) usual.add(2, 4);
  EXPECT_EQ(usual.value(), 0);
  usual.add(4, 80);
  EXPECT_EQ(usual.value(), 5);
  usual.add(4, kNaN);
  for (int i = 0; i < 16; ++i) usual.add(1, 2);
  EXPECT_EQ(usual.value(), 2);
}

}  // namespace
}  // namespace tenax::resilience
