#include "resilience/faults/bit_flips.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

using io::FlippedPart;

/// The second half of the columns of a parameter [4, 6], its state and gradients.
struct Rank {
  std::vector<float> values = std::vector<float>(5 * 12, 1.0F);

  std::vector<FlipTarget> targets() {
    const kernels::ShardLayout layout{.logical = {4, 6}, .axis = 1, .parts = 2, .index = 1};
    io::StateRange range{.name = "w", .layout = layout, .count = 12};
    range.parts = {{io::kWeightGroup, &values[0]},
                   {io::moment_group("exp_avg"), &values[12]},
                   {io::moment_group("exp_avg_sq"), &values[24]}};
    return {{.range = range, .own_sum = &values[36], .sum = &values[48]}};
  }
  BitFlips flips(const BitFlipRequest& request) { return {{request}, targets(), {}}; }
  /// Which values have changed.
  std::vector<std::size_t> changed() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != 1.0F) found.push_back(i);
    return found;
  }
};

BitFlipRequest request_of(FlippedPart part) {
  return {.window = {.from_step = 5}, .repeats = true, .tensor = "w", .part = part, .element = 10, .bit = 31};
}

// Element 10 is row 1, column 4: of the local part [4, 3] row 1, column 1.
TEST(BitFlips, turn_the_bit_of_the_element_in_the_part_that_was_asked_for) {
  for (const auto& [part, index] : {std::pair{FlippedPart::weight, 4},
                                    {FlippedPart::exp_avg, 16},
                                    {FlippedPart::exp_avg_sq, 28},
                                    {FlippedPart::own_sum, 40},
                                    {FlippedPart::sum, 52}}) {
    Rank rank;
    BitFlips flips = rank.flips(request_of(part));
    for (const std::int64_t step : {4, 5}) {
      flips.begin_step(step);
      flips.strike_state();
      flips.strike_own_sums(&rank.values[36], 4);  // another piece
      flips.strike_own_sums(&rank.values[40], 8);
      flips.strike_sums();
      EXPECT_EQ(rank.changed().empty(), step == 4);
    }
    EXPECT_EQ(rank.changed(), std::vector<std::size_t>{static_cast<std::size_t>(index)});
    EXPECT_EQ(rank.values[static_cast<std::size_t>(index)], -1.0F);
  }
}

TEST(BitFlips, draw_an_element_that_the_rank_holds_by_the_seed) {
  std::vector<std::size_t> drawn;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rank rank, again;
    BitFlipRequest request = request_of(FlippedPart::weight);
    request.element = -1;
    request.seed = seed;
    for (Rank* one : {&rank, &again}) {
      BitFlips flips = one->flips(request);
      flips.begin_step(5);
      flips.strike_state();
    }
    ASSERT_EQ(rank.changed().size(), 1u);
    EXPECT_LT(rank.changed()[0], 12u);
    EXPECT_EQ(rank.values, again.values);
    drawn.push_back(rank.changed()[0]);
  }
  std::sort(drawn.begin(), drawn.end());
  EXPECT_GT(std::unique(drawn.begin(), drawn.end()) - drawn.begin(), 6);
}

TEST(BitFlips, refuse_an_element_of_another_rank) {
  Rank rank;
  BitFlipRequest request = request_of(FlippedPart::weight);
  request.element = 7;  // row 1, column 1
  try {
    rank.flips(request);
    FAIL();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(std::string(error.what()), "inject.0: rank 0 of replica 0 does not hold element 7 of w");
  }
}

}  // namespace
}  // namespace tenax::resilience
