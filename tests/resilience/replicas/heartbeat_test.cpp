// A replica's ranks and their leader.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "resilience/replicas/leader_heartbeat.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::resilience {
namespace {

bool is_lost(const std::optional<LeaderHeartbeat::LostRank>& lost, int rank) {
  return lost && lost->rank == rank;
}

class Heartbeat : public ::testing::Test {
 protected:
  static bool comes_true(const std::function<bool()>& claim) {
    for (int i = 0; i < 4000 && !claim(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return claim();
  }
  std::unique_ptr<RankHeartbeat> start(int rank) {
    return std::make_unique<RankHeartbeat>(RankHeartbeat::Options{.secret = comm::one_job(),
                                                                  .leader = leader_->addresses(),
                                                                  .rank = rank,
                                                                  .interval_s = 0.01,
                                                                  .deadline_s = 20},
                                           frozen_[rank]);
  }
  FrozenEpoch frozen_[3];
  std::unique_ptr<LeaderHeartbeat> leader_ = std::make_unique<LeaderHeartbeat>(
      comm::MessageServerOptions{.secret = comm::one_job(), .listen = {}, .interfaces = {"lo"}}, 3,
      frozen_[0]);
};

TEST_F(Heartbeat, a_rank_that_beats_is_not_silent) {
  const auto one = start(1);
  EXPECT_FALSE(leader_->is_complete());
  const auto two = start(2);
  EXPECT_TRUE(comes_true([&] { return leader_->is_complete(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(leader_->silent_rank(20).has_value());
}

TEST_F(Heartbeat, a_rank_that_ends_is_noticed_at_once) {
  const auto one = start(1);
  auto two = start(2);
  ASSERT_TRUE(comes_true([&] { return leader_->is_complete(); }));
  two.reset();
  EXPECT_TRUE(comes_true([&] { return is_lost(leader_->silent_rank(1000), 2); }));
}

// However long nobody has asked before.
TEST_F(Heartbeat, a_rank_that_is_connected_and_says_nothing_is_silent) {
  const comm::MessageClient one({.secret = comm::one_job(),
                                 .addresses = leader_->addresses(),
                                 .purpose = "heartbeat.1",
                                 .deadline = kernels::Deadline::after_s(20)});
  EXPECT_TRUE(comes_true([&] { return is_lost(leader_->silent_rank(0.2), 1); }));
}

TEST_F(Heartbeat, a_word_of_the_leader_reaches_every_rank_late_ones_too) {
  const auto one = start(1);
  ASSERT_TRUE(comes_true([&] { return !leader_->silent_rank(1000).has_value(); }));
  leader_->freeze(7);
  EXPECT_EQ(frozen_[0].word(), 7);
  EXPECT_TRUE(comes_true([&] { return frozen_[1].word() == 7; }));
  const auto two = start(2);
  EXPECT_TRUE(comes_true([&] { return frozen_[2].word() == 7; }));
  leader_->freeze(5);
  EXPECT_EQ(frozen_[0].word(), 7);
}

TEST_F(Heartbeat, without_a_leader_all_is_frozen) {
  const auto one = start(1);
  leader_.reset();
  EXPECT_TRUE(comes_true([&] { return frozen_[1].word() == FrozenEpoch::kAll; }));
}

}  // namespace
}  // namespace tenax::resilience
