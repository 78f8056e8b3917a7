// Which fault is on which link when: deck entries bound to ranks.
#include "resilience/faults/fault_injector.hpp"

#include <gtest/gtest.h>

#include "tests/resilience/faults/injected_ranks.hpp"

namespace tenax::resilience {
namespace {

using Links = std::vector<std::pair<int, int>>;
using std::chrono::milliseconds;

LinkFaults::Clock::time_point now() { return LinkFaults::Clock::now(); }

/// As the deck's seconds are doubles.
void expect_near(LinkFaults::Clock::duration delay, double expected_ms) {
  EXPECT_NEAR(std::chrono::duration<double>(delay).count() * 1e3, expected_ms, 1e-5);
}

TEST(BindFaults, maps_stages_to_the_ranks_that_hold_them_in_every_pipeline_or_one) {
  const parallel::ProcessGrid grid({.tensor = 2, .pipeline = 3, .data = 2});
  FaultRequest entry;
  entry.stages = {1, 2};
  EXPECT_EQ(bind_faults({entry}, grid, 8)[0].links, (Links{{4, 8}, {5, 9}, {6, 10}, {7, 11}}));
  entry.data = 1;
  EXPECT_EQ(bind_faults({entry}, grid, 8)[0].links, (Links{{6, 10}, {7, 11}}));
}

TEST(BindFaults, follows_a_permuted_grid_but_takes_ranks_as_they_are) {
  const parallel::ProcessGrid grid({.pipeline = 3}, {2, 0, 1}, 1);
  FaultRequest stages, ranks;
  stages.stages = {0, 1};
  ranks.ranks = {0, 1};
  const auto faults = bind_faults({stages, ranks}, grid, 8);
  EXPECT_EQ(faults[0].links, (Links{{2, 0}}));
  EXPECT_EQ(faults[1].links, (Links{{0, 1}}));
}

TEST(BindFaults, lets_half_of_an_iterations_messages_pass_before_a_direct_path_goes_down) {
  const parallel::ProcessGrid grid({.pipeline = 2});
  FaultRequest direct;
  direct.stages = {0, 1};
  direct.down_path = "direct";
  FaultRequest address = direct;
  address.down_path = "10.0.0.5";
  const auto faults = bind_faults({direct, address}, grid, 8);
  EXPECT_EQ(faults[0].passing, 8);
  EXPECT_EQ(faults[1].passing, 0);
}

TEST(BindFaults, makes_no_injector_where_the_deck_injects_nothing) {
  const parallel::ProcessGrid grid({.pipeline = 2});
  EXPECT_EQ(create_fault_injector({}, grid, 8), nullptr);
}

TEST(LinkFaults, delay_in_both_directions_and_leave_other_links_alone) {
  LinkFaults faults({slow(0.03)});
  faults.begin_step(0);
  expect_near(faults.delay(0, 1, 100, now()), 30);
  expect_near(faults.delay(1, 0, 100, now()), 30);
  expect_near(faults.delay(1, 2, 100, now()), 0);
  EXPECT_TRUE(faults.concern(1, 0));
  EXPECT_FALSE(faults.concern(0, 2));
}

TEST(LinkFaults, hold_from_the_first_step_named_to_before_the_last) {
  LinkFault fault = slow(0.03);
  fault.window.from_step = 2;
  fault.window.to_step = 4;
  LinkFaults faults({fault});
  const double expected[] = {0, 0, 30, 30, 0};
  expect_near(faults.delay(0, 1, 1, now()), 0);
  for (int step = 0; step < 5; ++step) {
    faults.begin_step(step);
    expect_near(faults.delay(0, 1, 1, now()), expected[step]);
  }
}

TEST(LinkFaults, hold_by_the_seconds_since_the_first_step_began) {
  LinkFault fault = slow(0.03);
  fault.window.from_s = 100;
  fault.window.to_s = 200;
  LinkFaults faults({fault});
  faults.begin_step(0);
  const auto began = now();
  expect_near(faults.delay(0, 1, 1, began + std::chrono::seconds(99)), 0);
  expect_near(faults.delay(0, 1, 1, began + std::chrono::seconds(101)), 30);
  expect_near(faults.delay(0, 1, 1, began + std::chrono::seconds(201)), 0);
}

TEST(LinkFaults, take_bandwidth_in_proportion_to_the_bytes_alone_and_beside_a_delay) {
  LinkFault fault = slow(0);
  fault.gbps = 0.8;
  LinkFault both = slow(0.03);
  both.gbps = 0.8;
  LinkFaults faults({fault}), sums({both});
  faults.begin_step(0);
  sums.begin_step(0);
  expect_near(faults.delay(0, 1, 1'000'000, now()), 10);
  expect_near(faults.delay(1, 0, 2'000'000, now()), 20);
  expect_near(faults.delay(0, 1, 0, now()), 0);
  expect_near(sums.delay(0, 1, 1'000'000, now()), 40);
}

TEST(LinkFaults, are_not_there_before_the_first_step) {
  LinkFault down = slow(0);
  down.down_path = "direct";
  LinkFaults faults({slow(0.03), down});
  expect_near(faults.delay(0, 1, 1, now()), 0);
  EXPECT_FALSE(faults.is_down(0, 1, {.direct = true}));
}

TEST(LinkFaults, count_a_message_in_packets_begun) {
  LinkFault fault;
  fault.links = {{0, 1}};
  fault.per_packet_s = 0.000375;
  fault.packet_bytes = 1 << 20;
  LinkFaults faults({fault});
  faults.begin_step(0);
  expect_near(faults.delay(0, 1, 80 << 20, now()), 30);
  expect_near(faults.delay(0, 1, (80 << 20) + 1, now()), 30.375);
  expect_near(faults.delay(0, 1, 1, now()), 0.375);
  expect_near(faults.delay(0, 1, 0, now()), 0.375);
}

TEST(LinkFaults, follow_a_trace_from_the_moment_the_first_step_begins) {
  LinkFault fault;
  fault.links = {{0, 1}};
  fault.trace = std::make_shared<io::FaultTrace>(std::vector<io::FaultTrace::Point>{{100, 10}, {200, 20}},
                                                 io::kTracedDelay);
  LinkFaults faults({fault});
  faults.begin_step(0);
  const auto began = now();
  faults.begin_step(1);
  expect_near(faults.delay(0, 1, 1, began), 0);
  expect_near(faults.delay(0, 1, 1, began + std::chrono::seconds(101)), 10);
  expect_near(faults.delay(0, 1, 1, began + std::chrono::seconds(201)), 20);
  expect_near(faults.delay(0, 1, 1, began + std::chrono::hours(10)), 20);
}

TEST(LinkFaults, add_up) {
  LinkFaults faults({slow(0.01), slow(0.02)});
  faults.begin_step(0);
  expect_near(faults.delay(0, 1, 1, now()), 30);
}

TEST(LinkFaults, take_down_the_path_named_and_no_other) {
  LinkFault direct = slow(0), address = slow(0);
  direct.down_path = "direct";
  address.down_path = "10.0.0.5";
  address.window.from_step = 1;
  LinkFaults faults({direct, address});
  faults.begin_step(0);
  EXPECT_TRUE(faults.is_down(1, 0, {.direct = true}));
  EXPECT_FALSE(faults.is_down(1, 0, {.address = "tcp:10.0.0.5:4000"}));
  faults.begin_step(1);
  EXPECT_TRUE(faults.is_down(0, 1, {.address = "tcp:10.0.0.5:4000"}));
  EXPECT_FALSE(faults.is_down(0, 1, {.address = "tcp:10.0.0.51:4000"}));
  EXPECT_FALSE(faults.is_down(0, 2, {.direct = true, .address = "tcp:10.0.0.5:4000"}));
  EXPECT_FALSE(faults.delay_some(0, 2));
}

TEST(LinkFaults, know_an_address_by_its_host_its_port_or_its_kind) {
  for (const char* path : {"10.0.0.5", "10.0.0.5:4000", "tcp:10.0.0.5", "tcp:10.0.0.5:4000", "tcp"}) {
    EXPECT_TRUE(path_means(path, "tcp:10.0.0.5:4000")) << path;
    EXPECT_TRUE(path_means(path, "tcp:10.0.0.5:4000#7f3a")) << path;
  }
  for (const char* path : {"", "10.0.0", "0.0.5", "tcp:10.0.0", "10.0.0.5:40", "4000", "shm", "direct"})
    EXPECT_FALSE(path_means(path, "tcp:10.0.0.5:4000")) << path;
  for (const char* path : {"fe80::1", "[fe80::1]", "[fe80::1]:4000", "tcp:[fe80::1]"})
    EXPECT_TRUE(path_means(path, "tcp:[fe80::1]:4000")) << path;
  for (const char* path : {"shm", "shm:tenax.1.2", "tenax.1.2"})
    EXPECT_TRUE(path_means(path, "shm:tenax.1.2#7f3a")) << path;
  EXPECT_TRUE(path_means("elsewhere", "elsewhere"));
  EXPECT_FALSE(path_means("10.0.0.5", ""));
}

}  // namespace
}  // namespace tenax::resilience
