#include "resilience/membership/state_vote.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::resilience {
namespace {

using Replicas = std::vector<int>;

StateVote vote_of(std::set<int> voters, std::int64_t digest_steps = 0) {
  StateVote vote(digest_steps);
  vote.begin(std::move(voters), 0);
  return vote;
}

StateEvidence squares(std::uint64_t bits) { return {.squares = bits, .sums = {bits, bits}, .digest = {}}; }

StateEvidence state(std::uint64_t number) {
  StateEvidence evidence;
  evidence.digest.emplace().parts[0].add(number, 1);
  return evidence;
}

TEST(StateVote, finds_nothing_where_all_agree) {
  StateVote vote = vote_of({0, 1});
  EXPECT_FALSE(vote.add(0, 1, squares(5)));
  EXPECT_FALSE(vote.add(0, 0, squares(5)));
}

TEST(StateVote, finds_the_one_of_three_that_differs_whoever_comes_first) {
  StateVote vote = vote_of({0, 1, 2});
  EXPECT_FALSE(vote.add(4, 0, squares(9)));
  EXPECT_FALSE(vote.add(4, 1, squares(5)));
  const auto found = vote.add(4, 2, squares(5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->replicas, Replicas{0});
  EXPECT_FALSE(found->is_tie);
  EXPECT_EQ(found->trusted, 4);
  EXPECT_EQ(found->right.sums.sum, 5u);
  EXPECT_EQ(found->wrong.sums.sum, 9u);
}

TEST(StateVote, names_nobody_where_no_two_agree_or_two_pairs_do) {
  StateVote vote = vote_of({0, 1});
  vote.add(0, 0, squares(9));
  auto found = vote.add(0, 1, squares(5));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_tie);
  EXPECT_EQ(found->replicas, (Replicas{0, 1}));
  vote.begin({0, 1, 2, 3}, 1);
  for (const int replica : {0, 1, 2}) vote.add(1, replica, squares(replica / 2));
  found = vote.add(1, 3, squares(1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_tie);
  EXPECT_EQ(found->replicas, (Replicas{0, 1, 2, 3}));
}

TEST(StateVote, waits_for_all_that_hold_the_state_and_not_for_others) {
  StateVote vote = vote_of({0, 1});
  EXPECT_FALSE(vote.add(0, 0, squares(9)));
  EXPECT_TRUE(vote.add(0, 1, squares(5)));
  vote.begin({0, 1}, 1);
  vote.add(1, 2, squares(5));
  EXPECT_FALSE(vote.add(1, 0, squares(9)));
  EXPECT_EQ(vote.add(1, 1, squares(5))->replicas, Replicas{0});
}

TEST(StateVote, trusts_the_state_of_when_the_slice_was_equal_last) {
  StateVote vote = vote_of({0, 1, 2}, 4);
  vote.trust(8);
  for (std::int64_t step = 8; step < 13; ++step)
    for (const int replica : {0, 1, 2}) EXPECT_FALSE(vote.add(step, replica, state(1)));
  for (const int replica : {0, 1}) vote.add(13, replica, state(2));
  auto found = vote.add(13, 2, state(3));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->by, CorruptBy::digest);
  EXPECT_EQ(found->replicas, Replicas{2});
  EXPECT_EQ(found->trusted, 9);
}

TEST(StateVote, gives_no_vote_on_a_state_to_who_has_fetched_it_since_it_was_equal) {
  StateVote vote = vote_of({0, 1}, 4);
  for (const int replica : {0, 1}) vote.add(0, replica, state(1));
  vote.add(2, 2, state(1));  // 2 has joined
  for (const int replica : {0, 1}) vote.add(2, replica, state(1));
  for (const int replica : {0, 2}) vote.add(4, replica, state(7));
  auto found = vote.add(4, 1, state(1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_tie);
  vote.begin({0, 1, 2}, 5);
  vote.add(6, 0, state(1));
  vote.add(6, 2, state(1));
  found = vote.add(6, 1, state(9));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_tie) << "it was equal since it came";
  EXPECT_EQ(found->replicas, Replicas{1});
}

// 2 has fetched its state in a step in which 3 was lost, and nobody has committed that.
TEST(StateVote, gives_no_vote_either_to_who_has_fetched_it_in_a_step_that_was_cut_short) {
  StateVote vote = vote_of({0, 1, 3}, 4);
  for (std::int64_t step = 0; step < 4; ++step)
    for (const int replica : {0, 1, 3}) EXPECT_FALSE(vote.add(step, replica, state(1)));
  vote.begin({0, 1, 3}, 4);
  vote.begin({0, 1, 2}, 4);
  for (std::int64_t step = 4; step < 6; ++step)
    for (const int replica : {0, 1, 2}) EXPECT_FALSE(vote.add(step, replica, state(1)));
  for (const int replica : {0, 2}) vote.add(6, replica, state(9));
  const auto found = vote.add(6, 1, state(1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_tie) << "0 is wrong, and 2 has a copy of it";
}

// Which of them has changed since, neither can say.
TEST(StateVote, names_nobody_where_one_alone_may_vote_against_who_has_fetched_its_state) {
  StateVote vote = vote_of({0, 1}, 4);
  for (std::int64_t step = 0; step < 4; ++step)
    for (const int replica : {0, 1}) EXPECT_FALSE(vote.add(step, replica, state(1)));
  vote.begin({0, 1}, 4);
  vote.begin({0, 2}, 4);
  for (std::int64_t step = 4; step < 6; ++step)
    for (const int replica : {0, 2}) EXPECT_FALSE(vote.add(step, replica, state(1)));
  vote.add(6, 0, state(9));
  const auto found = vote.add(6, 2, state(1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_tie);
  EXPECT_EQ(found->replicas, (Replicas{0, 2}));
  EXPECT_EQ(found->trusted, 2);
}

TEST(StateVote, lets_two_that_may_vote_name_who_has_fetched_the_state) {
  StateVote vote = vote_of({0, 1}, 4);
  vote.add(2, 2, state(1));  // 2 has joined
  for (const int replica : {0, 1}) EXPECT_FALSE(vote.add(2, replica, state(1)));
  for (const int replica : {0, 1}) vote.add(4, replica, state(1));
  const auto found = vote.add(4, 2, state(9));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_tie);
  EXPECT_EQ(found->replicas, Replicas{2});
}

TEST(StateVote, compares_digests_of_those_alone_that_have_one) {
  StateVote vote = vote_of({0, 1, 2}, 4);
  vote.add(0, 0, state(1));
  vote.add(0, 1, state(1));
  EXPECT_FALSE(vote.add(0, 2, {}));
}

}  // namespace
}  // namespace tenax::resilience
