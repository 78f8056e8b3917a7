#include "comm/emulated/channel_arbiter.hpp"

#include <gtest/gtest.h>

namespace tenax::comm {
namespace {

constexpr ChannelEnd kLower = ChannelEnd::lower, kUpper = ChannelEnd::upper;

void expect_grant(ChannelArbiter& arbiter, ChannelEnd end, double time_s) {
  const auto grant = arbiter.grant();
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->end, end);
  EXPECT_EQ(grant->time_s, time_s);
}

TEST(ChannelArbiter, serves_one_at_a_time_first_come_first_served) {
  ChannelArbiter arbiter(false);
  arbiter.request(kLower, 10);
  arbiter.request(kLower, 11);
  expect_grant(arbiter, kLower, 10);
  EXPECT_FALSE(arbiter.grant()) << "the channel is busy";
  arbiter.request(kUpper, 12);
  arbiter.request(kLower, 13);
  EXPECT_FALSE(arbiter.grant());
  arbiter.release(kLower, 20);
  expect_grant(arbiter, kLower, 20);
  arbiter.release(kLower, 30);
  expect_grant(arbiter, kUpper, 30);
  arbiter.release(kUpper, 40);
  expect_grant(arbiter, kLower, 40);
  arbiter.release(kLower, 50);
  EXPECT_FALSE(arbiter.grant());
  arbiter.request(kUpper, 60);
  expect_grant(arbiter, kUpper, 60);
}

TEST(ChannelArbiter, goes_by_when_messages_were_ready_and_prefers_the_lower_end) {
  ChannelArbiter arbiter(false);
  arbiter.request(kUpper, 2);
  arbiter.request(kLower, 1);
  arbiter.request(kLower, 2.00001);
  expect_grant(arbiter, kLower, 1);
  arbiter.release(kLower, 5);
  expect_grant(arbiter, kLower, 5);
  arbiter.release(kLower, 9);
  expect_grant(arbiter, kUpper, 9);
}

TEST(ChannelArbiter, of_pairs_serves_each_direction_by_itself) {
  ChannelArbiter arbiter(true);
  arbiter.request(kLower, 1);
  arbiter.request(kLower, 2);
  arbiter.request(kUpper, 3);
  arbiter.request(kUpper, 4);
  expect_grant(arbiter, kLower, 1);
  expect_grant(arbiter, kUpper, 3);
  EXPECT_FALSE(arbiter.grant());
  arbiter.release(kUpper, 7);
  expect_grant(arbiter, kUpper, 7);
  EXPECT_FALSE(arbiter.grant());
}

}  // namespace
}  // namespace tenax::comm
