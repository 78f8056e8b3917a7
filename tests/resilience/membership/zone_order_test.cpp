#include "resilience/membership/zone_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tenax::resilience::test {
namespace {

using Zones = std::vector<std::string>;

Zones arranged(const Zones& zones, const std::vector<std::size_t>& order) {
  Zones result;
  for (const std::size_t member : order) result.push_back(zones[member]);
  return result;
}

int least_crossings(const Zones& zones) {
  std::vector<std::size_t> order(zones.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  int least = static_cast<int>(zones.size());
  do {
    least = std::min(least, zone_crossings(arranged(zones, order)));
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return least;
}

TEST(ZoneOrder, crosses_as_seldom_as_the_best_of_all_orders) {
  for (std::size_t members = 1; members <= 7; ++members) {
    const int assignments = 1 << (2 * (members - 1));  // the first is in zone 0, the others in any of four
    for (int assignment = 0; assignment < assignments; assignment += members < 7 ? 1 : 7) {
      Zones zones = {"0"};
      for (std::size_t member = 1; member < members; ++member)
        zones.push_back(std::to_string(assignment >> (2 * (member - 1)) & 3));
      EXPECT_EQ(zone_crossings(arranged(zones, zone_order(zones))), least_crossings(zones));
    }
  }
}

TEST(ZoneOrder, of_sixteen_members_crosses_once_a_zone) {
  Zones zones;
  for (int member = 0; member < 16; ++member)
    zones.push_back(std::string(1, static_cast<char>('a' + member * 5 % 4)));
  EXPECT_EQ(zone_crossings(zones), 16);
  EXPECT_EQ(zone_crossings(arranged(zones, zone_order(zones))), 4);
}

TEST(ZoneOrder, is_that_which_was_where_nothing_is_to_be_gained) {
  EXPECT_EQ(zone_order(Zones{"", "", ""}), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(zone_order(Zones{"b", "b", "a", "c"}), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(zone_order(Zones{"b", "a", "b", "a"}), (std::vector<std::size_t>{0, 2, 1, 3}));
  EXPECT_TRUE(zone_order(Zones{}).empty());
}

}  // namespace
}  // namespace tenax::resilience::test
