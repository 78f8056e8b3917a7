// A replica's ranks and their leader.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "resilience/replicas/heartbeat_targets.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::resilience {
namespace {

bool is_lost(const std::optional<LostRank>& lost, int rank) { return lost && lost->rank == rank; }

class Heartbeat : public ::testing::Test {
 protected:
  static bool comes_true(const std::function<bool()>& claim) {
    for (int i = 0; i < 4000 && !claim(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return claim();
  }
  std::unique_ptr<RankHeartbeat> start(int rank) {
    return std::make_unique<RankHeartbeat>(
        RankHeartbeat::Options{.secret = comm::one_job(),
                               .leader = leader_->addresses(),
                               .rank = rank,
                               .interval_s = 0.01,
                               .deadline_s = 20,
                               .when_hopeless = [this, rank] { ++hopeless_[rank]; }},
        frozen_[rank]);
  }
  FrozenEpoch frozen_[3];
  std::atomic<int> hopeless_[3] = {};
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

TEST_F(Heartbeat, ranks_know_that_there_is_no_hope_once_the_leader_says_so_or_is_gone) {
  const auto one = start(1), two = start(2);
  ASSERT_TRUE(comes_true([&] { return leader_->is_complete(); }));
  leader_->freeze(7);
  ASSERT_TRUE(comes_true([&] { return frozen_[1].word() == 7 && frozen_[2].word() == 7; }));
  EXPECT_EQ(hopeless_[1] + hopeless_[2], 0);
  leader_->freeze(FrozenEpoch::kAll);
  EXPECT_TRUE(comes_true([&] { return hopeless_[1] > 0 && hopeless_[2] > 0; }));
  leader_.reset();
  const int before = hopeless_[1];
  EXPECT_TRUE(comes_true([&] { return hopeless_[1] > before + 2; }));
}

TEST(HeartbeatTargets, are_the_leader_and_the_first_rank_of_each_other_host) {
  EXPECT_EQ(heartbeat_targets({"a", "a", "b", "b", "a", "c", "b"}), (std::vector{0, 0, 0, 2, 0, 0, 2}));
  EXPECT_TRUE(beats_for_others({0, 0, 0, 2}, 2));
  EXPECT_FALSE(beats_for_others({0, 0, 0, 2}, 3));
  EXPECT_FALSE(beats_for_others({0, 0}, 0));
}

TEST(HeartbeatTargets, of_many_hosts_are_the_first_rank_of_each_thirty_second) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 140; ++rank) hosts.push_back("host" + std::to_string(rank / 2));
  const std::vector<int> targets = heartbeat_targets(hosts);
  EXPECT_EQ(std::count(targets.begin(), targets.end(), 0), 2 + 31 + 2) << "own host, group, other groups";
  EXPECT_EQ((std::vector{targets[63], targets[64], targets[65], targets[66], targets[67], targets[138]}),
            (std::vector{62, 0, 64, 64, 66, 128}));
  for (std::size_t rank = 1; rank < targets.size(); ++rank) EXPECT_LT(targets[rank], static_cast<int>(rank));
}

/// Rank 1 beats for rank 2.
class HostHeartbeat : public Heartbeat {
 protected:
  HostHeartbeat() {
    host_.emplace(comm::MessageServerOptions{.secret = comm::one_job(), .listen = {}, .interfaces = {"lo"}},
                  3, frozen_[1]);
    first_.emplace(RankHeartbeat::Options{.secret = comm::one_job(),
                                          .leader = leader_->addresses(),
                                          .rank = 1,
                                          .interval_s = 0.01,
                                          .deadline_s = 20,
                                          .host_ranks = &*host_,
                                          .dead_s = 0.2},
                   frozen_[1]);
  }
  comm::MessageClient silent_second() const {
    return comm::MessageClient({.secret = comm::one_job(),
                                .addresses = host_->addresses(),
                                .purpose = "heartbeat.2",
                                .deadline = kernels::Deadline::after_s(20)});
  }
  std::optional<LeaderHeartbeat> host_;
  std::optional<RankHeartbeat> first_;
};

TEST_F(HostHeartbeat, tells_the_leader_who_is_silent) {
  const comm::MessageClient second = silent_second();
  EXPECT_TRUE(comes_true([&] { return is_lost(leader_->silent_rank(1000), 2); }));
  EXPECT_FALSE(leader_->silent_rank(1000)->is_gone);
  EXPECT_GE(leader_->silent_rank(1000)->silent_s, 0.2);
}

TEST_F(HostHeartbeat, tells_the_leader_who_is_gone) {
  { const comm::MessageClient second = silent_second(); }
  EXPECT_TRUE(comes_true([&] { return is_lost(leader_->silent_rank(1000), 2); }));
  EXPECT_TRUE(leader_->silent_rank(1000)->is_gone);
}

TEST_F(HostHeartbeat, passes_on_what_is_frozen_and_that_the_leader_is_gone) {
  comm::MessageClient second = silent_second();
  leader_->freeze(7);
  EXPECT_TRUE(comes_true([&] { return frozen_[1].word() == 7; }));
  const auto hears = [&](std::int64_t epoch) {
    for (int i = 0; i < 50; ++i)
      if (second.receive(kernels::Deadline::after_s(20)) == freeze_word(epoch)) return true;
    return false;
  };
  EXPECT_TRUE(hears(7));
  leader_.reset();
  EXPECT_TRUE(hears(FrozenEpoch::kAll));
}

TEST_F(Heartbeat, without_a_leader_all_is_frozen) {
  const auto one = start(1);
  leader_.reset();
  EXPECT_TRUE(comes_true([&] { return frozen_[1].word() == FrozenEpoch::kAll; }));
}

}  // namespace
}  // namespace tenax::resilience
