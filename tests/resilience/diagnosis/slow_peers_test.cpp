// Replicas, or links between them, of which one is slower than the others for long.
#include "resilience/diagnosis/slow_peers.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tenax::resilience {
namespace {

constexpr double kFloor_s = 3e-3;

class Peers : public testing::Test {
 protected:
  explicit Peers(int count = 3) { set_count(count); }
  void set_count(int count) {
    seconds.clear();
    for (int part = 0; part < count; ++part) seconds[{part, part}] = 0.1;
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i, ++now) {
      std::vector<SlowPeers::Figure> figures;
      for (const auto& [part, mean_s] : seconds)
        figures.push_back({.part = part, .work = work[part], .seconds = mean_s * jitter(random)});
      for (const SlowPeers::Change& change : peers.add(now, figures, kFloor_s)) changes.push_back(change);
    }
  }

  std::map<SlowPeers::Part, double> seconds, work;
  SlowPeers peers{1.1};
  std::vector<SlowPeers::Change> changes;
  std::int64_t now = 0;
  std::mt19937 random{1};
  std::normal_distribution<double> jitter{1.0, 0.02};
};

TEST_F(Peers, that_are_alike_are_never_told) {
  steps(5000);
  EXPECT_TRUE(changes.empty());
}

TEST_F(Peers, of_which_one_is_slow_for_long_tell_it_and_that_it_has_healed) {
  steps(100);
  seconds[{1, 1}] = 0.15;
  steps(30);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].part, SlowPeers::Part(1, 1));
  EXPECT_TRUE(changes[0].is_slow);
  EXPECT_EQ(changes[0].since, 100);
  EXPECT_NEAR(changes[0].factor, 1.5, 0.05);
  steps(500);
  EXPECT_EQ(changes.size(), 1U);
  seconds[{1, 1}] = 0.1;
  steps(10);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_FALSE(changes[1].is_slow);
  EXPECT_EQ(changes[1].since, 100);
  EXPECT_NEAR(changes[1].factor, 1, 0.05);
}

TEST_F(Peers, tell_one_that_always_was_slower) {
  seconds[{2, 2}] = 0.13;
  steps(30);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].part, SlowPeers::Part(2, 2));
}

TEST_F(Peers, do_not_tell_a_burst) {
  for (int burst = 0; burst < 20; ++burst) {
    seconds[{1, 1}] = 0.3;
    steps(15);
    seconds[{1, 1}] = 0.1;
    steps(15);
  }
  EXPECT_TRUE(changes.empty());
}

TEST_F(Peers, do_not_tell_noise_of_short_messages) {
  for (auto& [part, mean_s] : seconds) mean_s = 1e-4;
  seconds[{1, 1}] = 1e-3;
  steps(200);
  EXPECT_TRUE(changes.empty());
}

TEST_F(Peers, with_other_work_are_not_compared) {
  seconds[{1, 1}] = 0.2;
  work[{1, 1}] = 2;
  steps(200);
  EXPECT_TRUE(changes.empty());
}

TEST_F(Peers, that_are_two_tell_which) {
  set_count(2);
  seconds[{0, 0}] = 0.15;
  steps(30);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].part, SlowPeers::Part(0, 0));
}

TEST_F(Peers, one_alone_is_compared_with_its_own_healthy_past) {
  set_count(1);
  steps(100);
  seconds[{0, 0}] = 0.15;
  steps(30);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NEAR(changes[0].factor, 1.5, 0.05);
  steps(1000);
  EXPECT_EQ(changes.size(), 1U) << "what is slow does not become its past";
  seconds[{0, 0}] = 0.1;
  steps(10);
  EXPECT_EQ(changes.size(), 2U);
}

TEST_F(Peers, that_have_gone_are_forgotten) {
  seconds[{1, 1}] = 0.2;
  steps(20);
  seconds.erase({1, 1});
  steps(1);
  seconds[{1, 1}] = 0.2;
  steps(20);
  EXPECT_TRUE(changes.empty());
  steps(5);
  EXPECT_EQ(changes.size(), 1U);
}

TEST_F(Peers, that_are_slow_are_remembered_while_nothing_is_told_of_them) {
  seconds[{1, 1}] = 0.2;
  steps(30);
  ASSERT_EQ(changes.size(), 1U);
  const double slow_s = std::exchange(seconds[{1, 1}], 0.1);
  auto absent = seconds.extract({1, 1});
  steps(30);
  EXPECT_EQ(changes.size(), 1U);
  seconds.insert(std::move(absent));
  steps(10);
  ASSERT_EQ(changes.size(), 2U) << "it has healed meanwhile";
  EXPECT_FALSE(changes[1].is_slow);
  seconds[{1, 1}] = slow_s;
  steps(30);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_TRUE(changes[2].is_slow);
}

TEST_F(Peers, that_begin_anew_are_told_again) {
  seconds[{1, 1}] = 0.2;
  steps(30);
  peers.forget([](const SlowPeers::Part& part) { return part.first == 1; });
  steps(30);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_TRUE(changes[1].is_slow);
}

}  // namespace
}  // namespace tenax::resilience
