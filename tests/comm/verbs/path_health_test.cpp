#include "comm/verbs/path_health.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenax::comm::verbs {
namespace {

using Paths = std::vector<Path>;
const Path kBest{"a:1", "x:1"}, kSecond{"b:1", "y:1"};
const Paths kBoth{kBest, kSecond};

PathHealth health_of(Paths paths) {
  PathHealth health;
  health.set_paths(std::move(paths));
  return health;
}

TEST(PathHealth, trusts_every_path_until_something_is_seen) {
  const PathHealth health = health_of(kBoth);
  EXPECT_EQ(health.candidates(0), kBoth);
  EXPECT_FALSE(health.next_change_s(0));
  EXPECT_TRUE(PathHealth().candidates(0).empty());
}

TEST(PathHealth, uses_no_port_that_is_down_at_either_end) {
  PathHealth health = health_of(kBoth);
  health.port_down(PathEnd::here, "a:1", 10);
  EXPECT_EQ(health.candidates(10), Paths{kSecond});
  health.port_down(PathEnd::there, "y:1", 11);
  EXPECT_TRUE(health.candidates(11).empty());
  EXPECT_FALSE(health.next_change_s(11)) << "only an event can change it";
  health.port_up(PathEnd::here, "a:1", 12);
  EXPECT_EQ(health.candidates(12), Paths{kBest});
}

TEST(PathHealth, tells_ports_of_equal_name_at_the_two_ends_apart) {
  const Path mirrored{"a:1", "a:1"}, other{"b:1", "b:1"};
  PathHealth health = health_of({mirrored, other});
  health.port_down(PathEnd::there, "b:1", 0);
  EXPECT_EQ(health.candidates(0), Paths{mirrored});
  health.port_down(PathEnd::here, "b:1", 0);
  health.port_up(PathEnd::there, "b:1", 0);
  EXPECT_EQ(health.candidates(0), Paths{mirrored});
}

TEST(PathHealth, leaves_a_path_whose_port_is_down_only_for_one_that_is_trusted) {
  PathHealth health = health_of(kBoth);
  EXPECT_FALSE(health.should_leave(kBest, 0));
  health.port_down(PathEnd::here, "a:1", 1);
  EXPECT_TRUE(health.should_leave(kBest, 1));
  EXPECT_FALSE(health.should_leave(kSecond, 1)) << "its ports are up";
  health.broke(kSecond, BreakReason::no_answer, 2);
  EXPECT_FALSE(health.should_leave(kBest, 2));
  EXPECT_FALSE(health.should_leave(kBest, 10)) << "its test is due, but it has not passed";
  health.passed(kSecond, 10);
  EXPECT_TRUE(health.should_leave(kBest, 10));
  health.port_down(PathEnd::there, "y:1", 11);
  EXPECT_FALSE(health.should_leave(kBest, 11)) << "there is nowhere to go";
}

TEST(PathHealth, goes_back_to_a_port_at_once_the_first_time_and_later_each_time_it_flaps) {
  PathHealth health = health_of({kBest});
  double now_s = 100;
  for (const double wait_s : {0, 1, 2, 4, 8, 16, 32, 60, 60}) {
    health.port_down(PathEnd::here, "a:1", now_s);
    EXPECT_TRUE(health.candidates(now_s + 1000).empty());
    health.port_up(PathEnd::here, "a:1", now_s + 1);
    EXPECT_EQ(health.candidates(now_s + 1 + wait_s), Paths{kBest}) << wait_s;
    if (wait_s > 0) {
      EXPECT_TRUE(health.candidates(now_s + 1 + wait_s - 0.001).empty()) << wait_s;
      EXPECT_EQ(health.next_change_s(now_s + 1), now_s + 1 + wait_s);
    }
    now_s += 1 + 59.9;  // up for a little less than what counts as healed
  }
  health.port_down(PathEnd::here, "a:1", now_s);
  health.port_up(PathEnd::here, "a:1", now_s + 1);
  now_s += 1 + RetryDelay::kHolds_s;
  health.port_down(PathEnd::here, "a:1", now_s);
  health.port_up(PathEnd::here, "a:1", now_s + 1);
  EXPECT_EQ(health.candidates(now_s + 1), Paths{kBest}) << "it had held";
}

TEST(PathHealth, leaves_a_port_alone_as_long_as_its_own_end_does) {
  PathHealth health = health_of({kBest});
  health.port_down(PathEnd::there, "x:1", 10);
  health.port_rests(PathEnd::there, "x:1", 14, 12);
  EXPECT_TRUE(health.is_up(PathEnd::there, "x:1"));
  EXPECT_TRUE(health.candidates(13.9).empty());
  EXPECT_EQ(health.next_change_s(12), 14);
  EXPECT_EQ(health.candidates(14), Paths{kBest});
  health.port_rests(PathEnd::there, "x:1", 13, 12.5);
  EXPECT_EQ(health.next_change_s(12.5), 14) << "the longer rest counts";
}

TEST(PathHealth, counts_repeated_news_of_a_port_once) {
  PathHealth health = health_of({kBest});
  health.port_up(PathEnd::here, "a:1", 0);
  for (double now_s = 1; now_s < 2; now_s += 0.1) health.port_down(PathEnd::here, "a:1", now_s);
  for (double now_s = 2; now_s < 3; now_s += 0.1) health.port_up(PathEnd::here, "a:1", now_s);
  EXPECT_EQ(health.candidates(2), Paths{kBest});
  health.port_down(PathEnd::here, "a:1", 3);
  health.port_up(PathEnd::here, "a:1", 4);
  EXPECT_EQ(health.next_change_s(4), 5) << "the second time waits for one second, not for more";
}

TEST(PathHealth, changes_ways_at_most_16_times_while_a_port_flaps_every_2_s_for_a_minute) {
  PathHealth health = health_of(kBoth);
  Path present = kBest;
  int changes = 0;
  const auto look = [&](double now_s) {
    const Paths better = health.better_than(present, now_s);
    const bool leaves = health.should_leave(present, now_s);
    if (!leaves && better.empty()) return;
    present = leaves ? health.candidates(now_s).front() : better.front();
    ++changes;
  };
  for (int ms = 0; ms < 60'000; ms += 10) {
    const double now_s = ms * 1e-3;
    if (ms % 2000 == 0) health.port_down(PathEnd::here, "a:1", now_s);
    if (ms % 2000 == 1000) health.port_up(PathEnd::here, "a:1", now_s);
    look(now_s);
  }
  EXPECT_LE(changes, 16);
  EXPECT_GE(changes, 2);
}

TEST(PathHealth, suspects_the_pair_of_ports_that_gave_no_answer_and_no_other) {
  const Path same_here{"a:1", "y:1"}, same_there{"b:1", "x:1"};
  PathHealth health = health_of({kBest, same_here, same_there, kSecond});
  health.broke(kBest, BreakReason::no_answer, 5);
  EXPECT_EQ(health.candidates(5), (Paths{same_here, same_there, kSecond}));
  EXPECT_FALSE(health.should_leave(kBest, 5)) << "no port of it is down";
}

TEST(PathHealth, tests_suspects_after_1_2_4_to_60_s_for_ever) {
  PathHealth health = health_of({kBest});
  double now_s = 0;
  for (const double wait_s : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    health.broke(kBest, BreakReason::no_answer, now_s);
    EXPECT_TRUE(health.candidates(now_s + wait_s - 0.001).empty()) << wait_s;
    EXPECT_EQ(health.next_change_s(now_s), now_s + wait_s);
    now_s += wait_s;
    EXPECT_EQ(health.candidates(now_s), Paths{kBest}) << wait_s;
  }
}

TEST(PathHealth, begins_again_at_1_s_only_once_a_path_has_held_for_60_s) {
  for (const double held_s : {59.9, 60.0}) {
    PathHealth health = health_of({kBest});
    for (const double now_s : {0.0, 1.0, 3.0}) health.broke(kBest, BreakReason::no_answer, now_s);
    health.passed(kBest, 7);
    health.passed(kBest, 20);  // another connection: held since 7 all the same
    health.broke(kBest, BreakReason::no_answer, 7 + held_s);
    EXPECT_EQ(*health.next_change_s(7 + held_s) - (7 + held_s), held_s < 60 ? 8 : 1);
  }
}

TEST(PathHealth, takes_connections_that_break_together_for_one_failure) {
  PathHealth health = health_of({kBest});
  for (int i = 0; i < 16; ++i) health.broke(kBest, BreakReason::no_answer, 0.01 * i);
  EXPECT_EQ(health.next_change_s(0.2), 1);
}

TEST(PathHealth, tries_trusted_paths_before_better_suspects) {
  PathHealth health = health_of(kBoth);
  health.broke(kBest, BreakReason::no_answer, 0);
  EXPECT_EQ(health.candidates(0.5), Paths{kSecond});
  EXPECT_EQ(health.candidates(1), (Paths{kSecond, kBest}));
  EXPECT_TRUE(health.better_than(kSecond, 0.5).empty());
  EXPECT_EQ(health.better_than(kSecond, 1), Paths{kBest});
  EXPECT_TRUE(health.better_than(kBest, 1).empty());
  health.passed(kBest, 1);
  EXPECT_EQ(health.candidates(1), kBoth);
  EXPECT_EQ(health.better_than({"gone:1", "x:1"}, 1), kBoth) << "a path that is no longer there is the worst";
}

TEST(PathHealth, waits_for_the_later_of_the_two_ports) {
  for (const PathEnd flapping : {PathEnd::here, PathEnd::there}) {
    PathHealth health = health_of({{"a:1", "a:1"}});
    for (const double now_s : {0.0, 2.0}) {
      health.port_down(flapping, "a:1", now_s);
      health.port_up(flapping, "a:1", now_s + 1);
    }
    EXPECT_EQ(health.next_change_s(3), 4);
  }
}

TEST(PathHealth, waits_for_the_port_and_for_the_test_of_a_suspect) {
  PathHealth health = health_of({kBest});
  health.port_down(PathEnd::here, "a:1", 0);
  health.port_up(PathEnd::here, "a:1", 1);
  health.port_down(PathEnd::here, "a:1", 2);
  health.broke(kBest, BreakReason::no_answer, 2);
  EXPECT_FALSE(health.next_change_s(2));
  health.port_up(PathEnd::here, "a:1", 2.5);
  EXPECT_EQ(health.next_change_s(2.5), 3.5) << "the port's second, and not the suspicion's alone";
}

TEST(PathHealth, blames_what_each_reason_is_about) {
  const auto after = [](BreakReason reason) {
    PathHealth health = health_of({kBest, {"a:1", "y:1"}, {"b:1", "x:1"}, kSecond});
    health.broke(kBest, reason, 0);
    return health.candidates(reason == BreakReason::own_fault ? 1 : 0);
  };
  const Paths without_here{{"b:1", "x:1"}, kSecond}, without_there{{"a:1", "y:1"}, kSecond};
  EXPECT_EQ(after(BreakReason::port_down), without_here);
  EXPECT_EQ(after(BreakReason::device_lost), without_here);
  EXPECT_EQ(after(BreakReason::peer_port_down), without_there);
  EXPECT_EQ(after(BreakReason::no_answer).size(), 3U);
  EXPECT_EQ(after(BreakReason::peer_gone).size(), 4U);
  EXPECT_EQ(after(BreakReason::own_fault).size(), 4U) << "no port is blamed";
}

TEST(PathHealth, rests_after_faults_of_ours_for_1_2_4_to_60_s_and_for_1_s_again_once_it_has_held) {
  PathHealth health = health_of(kBoth);
  double now_s = 0;
  for (const double wait_s : {1, 2, 4, 8, 16, 32, 60, 60}) {
    health.broke(kBest, BreakReason::own_fault, now_s);
    EXPECT_TRUE(health.candidates(now_s + wait_s - 0.001).empty()) << wait_s;
    EXPECT_FALSE(health.should_leave(kBest, now_s));
    EXPECT_EQ(health.next_change_s(now_s), now_s + wait_s);
    now_s += wait_s;
    EXPECT_EQ(health.candidates(now_s), kBoth) << wait_s;
  }
  now_s += RetryDelay::kHolds_s;
  health.broke(kSecond, BreakReason::own_fault, now_s);
  EXPECT_EQ(health.next_change_s(now_s), now_s + 1);
}

TEST(PathHealth, takes_faults_of_connections_that_break_together_for_one) {
  PathHealth health = health_of(kBoth);
  for (int i = 0; i < 16; ++i) health.broke(kBest, BreakReason::own_fault, 0.01 * i);
  EXPECT_EQ(health.next_change_s(0.2), 1);
}

TEST(PathHealth, remembers_ports_when_the_paths_change) {
  PathHealth health = health_of({kBest});
  health.port_down(PathEnd::here, "a:1", 0);
  health.set_paths({kSecond, kBest});
  EXPECT_EQ(health.candidates(1), Paths{kSecond});
}

/// Any events at any times: what choices promise holds after each of them.
TEST(PathHealth, keeps_its_promises_through_20000_random_events) {
  std::mt19937 random(1);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const std::vector<std::string> ports{"p:1", "q:1", "r:1"};
  Paths paths;
  for (const auto& here : ports)
    for (const auto& there : ports) paths.push_back({here, there});
  PathHealth health = health_of(paths);
  std::map<std::pair<PathEnd, std::string>, bool> is_up;
  double now_s = 0;
  for (int i = 0; i < 20'000; ++i) {
    now_s += below(4) == 0 ? 0.5 * below(200) : 0.001 * below(1000);
    const PathEnd end = below(2) == 0 ? PathEnd::here : PathEnd::there;
    const std::string& port = ports[static_cast<std::size_t>(below(3))];
    const Path& path = paths[static_cast<std::size_t>(below(9))];
    const int event = below(5);
    if (event == 0) health.port_down(end, port, now_s);
    if (event == 1) health.port_up(end, port, now_s);
    if (event <= 1) is_up[{end, port}] = event == 1;
    if (event == 2) health.broke(path, BreakReason::no_answer, now_s);
    if (event == 3) health.passed(path, now_s);

    const auto port_is_up = [&](PathEnd at, const std::string& name) {
      const auto found = is_up.find({at, name});
      return found == is_up.end() || found->second;
    };
    const Paths chosen = health.candidates(now_s);
    for (const Path& one : chosen)
      ASSERT_TRUE(port_is_up(PathEnd::here, one.here) && port_is_up(PathEnd::there, one.there));
    for (const Path& one : paths) {
      const bool both_up = port_is_up(PathEnd::here, one.here) && port_is_up(PathEnd::there, one.there);
      const Paths later = health.candidates(now_s + RetryDelay::kLongest_s);
      ASSERT_EQ(std::count(later.begin(), later.end(), one), both_up ? 1 : 0)
          << "no path is given up for ever";
      ASSERT_FALSE(both_up && health.should_leave(one, now_s));
    }
    const auto next_s = health.next_change_s(now_s);
    ASSERT_EQ(next_s.has_value(), chosen.size() < health.candidates(now_s + RetryDelay::kLongest_s).size());
    if (next_s) {
      ASSERT_GT(*next_s, now_s);
      ASSERT_EQ(health.candidates((now_s + *next_s) / 2), chosen) << "it changes no earlier";
      ASSERT_GT(health.candidates(*next_s).size(), chosen.size());
    }
  }
}

}  // namespace
}  // namespace tenax::comm::verbs
