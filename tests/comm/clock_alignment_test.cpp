// Clocks of two ranks that are threads; each has a clock of its own.
#include "comm/clock_alignment.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/error.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

constexpr double kAhead_s = 1234.5;  // rank 1's clock

AlignmentRole role_of(const World& world) {
  return world.rank() == 0 ? AlignmentRole::asks : AlignmentRole::answers;
}

/// A clock that shows the given times, one a look.
ClockSource scripted(std::vector<double> times) {
  return [times, next = std::size_t{0}]() mutable { return times.at(next++); };
}

TEST(ClockAlignment, finds_the_peers_clock_within_its_error_bound_from_both_sides) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    const double mine_s = world.rank() * kAhead_s;
    const ClockOffset offset =
        measure_clock_offset(endpoint->link(1 - world.rank()), role_of(world),
                             {.rounds = 5, .deadline_s = 10}, [&] { return steady_now_s() + mine_s; });
    EXPECT_NEAR(offset.offset_s, world.rank() == 0 ? kAhead_s : -kAhead_s, offset.error_s + 1e-9);
    EXPECT_GT(offset.error_s, 0);
    EXPECT_LT(offset.error_s, 5);
    EXPECT_NEAR(offset.measured_s, steady_now_s() + mine_s, 10);
  });
}

// Round trips of 40, 4 and 20 ms (answer times excluded), of which the second says +100 s, the others
// +100.015.
TEST(ClockAlignment, trusts_the_round_with_the_shortest_round_trip) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    const ClockSource clock = world.rank() == 0
                                  ? scripted({0.000, 0.041, 1.000, 1.005, 2.000, 2.021})
                                  : scripted({100.035, 100.036, 101.002, 101.003, 102.025, 102.026, 103.0});
    const ClockOffset offset = measure_clock_offset(endpoint->link(1 - world.rank()), role_of(world),
                                                    {.rounds = 3, .deadline_s = 10}, clock);
    EXPECT_NEAR(offset.offset_s, world.rank() == 0 ? 100.0 : -100.0, 1e-9);
    EXPECT_NEAR(offset.error_s, 0.002, 1e-9);
    EXPECT_NEAR(offset.measured_s, world.rank() == 0 ? 1.005 : 103.0, 1e-9);
  });
}

TEST(ClockAlignment, a_silent_peer_is_an_error_that_names_it) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    if (world.rank() == 1) return;
    try {
      measure_clock_offset(endpoint->link(1), AlignmentRole::asks, {.rounds = 1, .deadline_s = 0.05});
      ADD_FAILURE() << "no error";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::link);
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  });
}

TEST(ClockAlignment, is_unknown_before_the_first_measurement) {
  const ClockAlignment alignment;
  EXPECT_FALSE(alignment.known());
  EXPECT_GT(alignment.error_s(0), 1e9);
}

TEST(ClockAlignment, keeps_the_better_measurement_until_drift_has_spent_its_advantage) {
  ClockAlignment alignment;
  alignment.add({.offset_s = 5, .error_s = 1e-5, .measured_s = 100});
  alignment.add({.offset_s = 6, .error_s = 1e-3, .measured_s = 101});
  EXPECT_EQ(alignment.offset_s(), 5);
  EXPECT_NEAR(alignment.error_s(101), 1e-5 + ClockAlignment::kDrift, 1e-12);
  alignment.add({.offset_s = 6, .error_s = 1e-3, .measured_s = 121});
  EXPECT_EQ(alignment.offset_s(), 6);
  EXPECT_EQ(alignment.to_mine_s(16), 10);
}

}  // namespace
}  // namespace tenax::comm
