// Where replicas of a simulated run start again.
#include "app/simulation/simulated_places.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

class Places : public ::testing::Test {
 protected:
  SimulatedPlaces make(int spares, int limit = 5, std::vector<std::string> zones = {}) {
    SimulatedPlaces places({.replicas = 2,
                            .spares = spares,
                            .zones = std::move(zones),
                            .restart = {.delay_s = 0, .limit = limit},
                            .repair_s = 100,
                            .is_regular = true,
                            .restart_s = 7,
                            .takeover_s = 1},
                           random_, queue_);
    for (int replica = 0; replica < 2; ++replica) {
      queue_.take();
      places.on_commit(replica);
    }
    return places;
  }
  /// The next repairs end; returns the start that follows from them.
  TimedEvent<SimulatedEvent> next_start(SimulatedPlaces& places) {
    while (true) {
      const auto event = queue_.take();
      if (event.kind == SimulatedEvent::start) return event;
      places.on_repaired(event.subject, event.time_s);
    }
  }

  RandomTimes random_{1};
  SimulatedQueue queue_;
};

TEST_F(Places, start_a_lost_replica_when_its_hosts_are_repaired) {
  SimulatedPlaces places = make(0);
  EXPECT_EQ(places.on_failure(1, 10), 1);
  EXPECT_TRUE(places.on_lost(1, 11));
  const auto start = next_start(places);
  EXPECT_EQ(start.subject, 1);
  EXPECT_EQ(start.time_s, 117);
  EXPECT_TRUE(places.is_next_start(1, start.token));
  EXPECT_EQ(places.place_of(1), 1);
}

TEST_F(Places, give_a_lost_replica_the_spare_one_at_once) {
  SimulatedPlaces places = make(1);
  places.on_failure(0, 10);
  places.on_lost(0, 11);
  const auto start = next_start(places);
  EXPECT_EQ(start.time_s, 12);
  EXPECT_EQ(places.place_of(0), 2);
  EXPECT_EQ(places.on_failure(0, 13), std::nullopt);
}

// As HostPool chooses: place 0 is in the first zone, as spare place 2; place 1 in the second, as spare place 3.
TEST_F(Places, give_a_lost_replica_a_spare_one_of_its_zone) {
  SimulatedPlaces places = make(2, 5, {"x", "y", "x", "y"});
  places.on_failure(1, 10);
  places.on_lost(1, 11);
  EXPECT_EQ(next_start(places).time_s, 12);
  EXPECT_EQ(places.place_of(1), 3);
  EXPECT_EQ(places.zone_of(1), "y");
}

// Its old place is the next spare, once it is repaired and what is idle there has started.
TEST_F(Places, make_a_repaired_place_a_spare_one) {
  SimulatedPlaces places = make(1);
  places.on_failure(0, 10);
  places.on_lost(0, 11);
  next_start(places);
  places.on_failure(1, 50);
  places.on_lost(1, 51);
  const auto start = next_start(places);  // at 110 place 0 is repaired, at 150 place 1
  EXPECT_EQ(start.subject, 1);
  EXPECT_EQ(start.time_s, 110 + 7 + 1);
  EXPECT_EQ(places.place_of(1), 0);
}

TEST_F(Places, repair_once_for_each_failure) {
  SimulatedPlaces places = make(0);
  places.on_failure(0, 10);
  places.on_lost(0, 11);
  places.on_failure(0, 50);
  EXPECT_EQ(next_start(places).time_s, 217);
}

TEST_F(Places, start_a_replica_where_it_was_if_nothing_is_broken) {
  SimulatedPlaces places = make(0);
  places.on_lost(0, 11);
  EXPECT_EQ(next_start(places).time_s, 18);
}

// As the supervisor's policy has it: starts that train nothing wait for longer and longer.
TEST_F(Places, give_up_what_dies_again_and_again) {
  SimulatedPlaces places = make(0, 2);
  places.on_lost(0, 0);
  const auto first = next_start(places);
  EXPECT_TRUE(places.on_lost(0, first.time_s));
  const auto second = next_start(places);
  EXPECT_FALSE(places.is_next_start(0, first.token));
  EXPECT_FALSE(places.on_lost(0, second.time_s));
}

}  // namespace
}  // namespace tenax::app
