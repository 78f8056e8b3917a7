#include "resilience/membership/state_digest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tenax::resilience {
namespace {

TEST(PlacedSum, says_which_place_differs_whatever_it_holds) {
  for (const std::uint64_t change :
       {1ULL, 2ULL, 0x8000000000000000ULL - 1, 0xFFFFFFFFFFFFFFFFULL, 0x123456789ABCDEFULL}) {
    PlacedSum a, b;
    for (std::uint64_t place = 1; place <= 500; ++place) {
      a.add(place * 0x9E3779B97F4A7C15, place);
      b.add(place * 0x9E3779B97F4A7C15 + (place == 377 ? change : 0), place);
    }
    EXPECT_EQ(differing_place(a, b, 500), 377) << change;
    EXPECT_EQ(differing_place(b, a, 500), 377) << change;
  }
}

TEST(PlacedSum, names_no_place_where_two_differ) {
  PlacedSum a, b;
  b.add(12345, 3);
  b.add(777, 8);
  EXPECT_FALSE(differing_place(a, b, 100));
}

TEST(PlacedSum, is_summed_exactly_as_doubles) {
  const PlacedSum a{0xFFFFFFFFFFFFFFFF, 0x8000000000000001}, b{2, 0xFFFFFFFF00000000};
  auto sums = a.addends();
  std::ranges::transform(sums, b.addends(), sums.begin(), std::plus<>());
  EXPECT_EQ(PlacedSum::of_addends(sums), (PlacedSum{1, 0x7FFFFFFF00000001}));
}

TEST(StateDigest, tells_which_parts_differ_in_one_place) {
  StateDigest a, b;
  b.parts[0].add(5, 9);
  b.parts[2].add(7, 9);
  const DigestDifference found = difference(a, b, 20);
  EXPECT_EQ(found.parts, (std::array<bool, 3>{true, false, true}));
  EXPECT_EQ(found.place, 9);
  b.parts[1].add(7, 8);
  EXPECT_FALSE(difference(a, b, 20).place);
  EXPECT_EQ(StateDigest::of_addends(b.addends()), b);
}

}  // namespace
}  // namespace tenax::resilience
