#include "resilience/replicas/digest_slices.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <vector>

namespace tenax::resilience {
namespace {

/// A rank with two parameters, of which weights and two moments are numbers that follow each other.
struct Rank {
  std::vector<float> numbers = std::vector<float>(3 * 50);
  std::vector<io::StateRange> ranges;

  Rank() {
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    add("a", 0, 13);
    add("b", 13, 37);
  }
  void add(const std::string& name, std::size_t begin, std::int64_t count) {
    io::StateRange range{.name = name, .layout = {}, .count = count};
    for (std::size_t part = 0; part < 3; ++part) range.parts.push_back({"", &numbers[50 * part + begin]});
    ranges.push_back(range);
  }
  DigestSlices slices(std::int64_t count, int rank = 0) const {
    return DigestSlices(ranges, {.slices = count, .rank = rank, .place_of = [rank](const std::string& name) {
                                   return 1 + 2 * rank + (name == "b" ? 1 : 0);
                                 }});
  }
};

TEST(DigestSlices, see_each_element_of_each_part_once_in_so_many_steps) {
  constexpr std::int64_t kSlices = 7;
  Rank right, wrong;
  for (std::size_t i = 0; i < wrong.numbers.size(); ++i) {
    const float before = wrong.numbers[i];
    wrong.numbers[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(before) ^ 1U);
    int differ = 0;
    for (std::int64_t step = 100; step < 100 + kSlices; ++step) {
      const auto found =
          difference(right.slices(kSlices).of_step(step), wrong.slices(kSlices).of_step(step), 10);
      for (std::size_t part = 0; part < 3; ++part) {
        differ += found.parts[part] ? 1 : 0;
        EXPECT_TRUE(!found.parts[part] || part == i / 50) << i;
      }
      EXPECT_EQ(found.place.value_or(i % 50 < 13 ? 1 : 2), i % 50 < 13 ? 1 : 2) << i;
    }
    EXPECT_EQ(differ, 1) << i;
    wrong.numbers[i] = before;
  }
}

TEST(DigestSlices, differ_where_two_ranks_hold_each_others_numbers) {
  Rank a, b;
  b.numbers[3] = -1;
  StateDigest straight, crossed;
  const auto add = [](StateDigest& sum, const StateDigest& other) {
    for (std::size_t part = 0; part < 3; ++part) sum.parts[part].sum += other.parts[part].sum;
  };
  add(straight, a.slices(1, 0).of_step(0));
  add(straight, b.slices(1, 1).of_step(0));
  add(crossed, b.slices(1, 0).of_step(0));
  add(crossed, a.slices(1, 1).of_step(0));
  EXPECT_NE(straight.checksum(), crossed.checksum());
}

}  // namespace
}  // namespace tenax::resilience
