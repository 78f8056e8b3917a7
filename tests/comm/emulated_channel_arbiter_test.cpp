#include "comm/emulated/channel_arbiter.hpp"

#include <gtest/gtest.h>

namespace tenax::comm {
namespace {

constexpr ChannelEnd kLower = ChannelEnd::lower, kUpper = ChannelEnd::upper;

TEST(ChannelArbiter, serves_one_at_a_time_first_come_first_served) {
  ChannelArbiter arbiter(false);
  for (const ChannelEnd end : {kLower, kLower, kUpper, kLower}) arbiter.request(end);
  for (const ChannelEnd end : {kLower, kLower, kUpper, kLower}) {
    EXPECT_EQ(arbiter.grant(), end);
    EXPECT_EQ(arbiter.grant(), std::nullopt) << "the channel is busy";
    arbiter.release(end);
  }
  EXPECT_EQ(arbiter.grant(), std::nullopt);
}

TEST(ChannelArbiter, of_pairs_serves_each_direction_by_itself) {
  ChannelArbiter arbiter(true);
  for (const ChannelEnd end : {kLower, kLower, kUpper, kUpper}) arbiter.request(end);
  EXPECT_EQ(arbiter.grant(), kLower);
  EXPECT_EQ(arbiter.grant(), kUpper);
  EXPECT_EQ(arbiter.grant(), std::nullopt);
  arbiter.release(kUpper);
  EXPECT_EQ(arbiter.grant(), kUpper);
  EXPECT_EQ(arbiter.grant(), std::nullopt);
}

}  // namespace
}  // namespace tenax::comm
