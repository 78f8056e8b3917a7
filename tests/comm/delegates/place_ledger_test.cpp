// The ledger in which two ends agree on places.
#include "comm/buffers/place_ledger.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tenax::comm {
namespace {

class Ledger : public ::testing::Test {
 protected:
  std::unique_ptr<PlaceLedger::Memory> memory = std::make_unique<PlaceLedger::Memory>();
  PlaceLedger zero{*memory, 0}, one{*memory, 1};
  static constexpr MessageKey kKey{0, 0, 0};
  static constexpr PlaceId kFirst{0, 0}, kOther{1, 7};
};

TEST_F(Ledger, a_place_that_one_end_offers_is_found_by_the_other) {
  EXPECT_FALSE(one.named_by_peer(kKey).has_value());
  EXPECT_TRUE(zero.offer(kKey, kFirst));
  EXPECT_EQ(one.named_by_peer(kKey), kFirst);
  EXPECT_FALSE(zero.named_by_peer(kKey).has_value()) << "its own";
  EXPECT_FALSE(one.offer(kKey, kOther)) << "there is one";
}

TEST_F(Ledger, an_offer_is_taken_back_or_accepted_but_never_both) {
  ASSERT_TRUE(zero.offer(kKey, kFirst));
  EXPECT_TRUE(one.accept(kKey, kFirst));
  EXPECT_TRUE(one.accept(kKey, kFirst)) << "again";
  EXPECT_FALSE(zero.withdraw(kKey, kFirst));
  const MessageKey next{0, 0, 1};
  ASSERT_TRUE(zero.offer(next, kFirst));
  EXPECT_TRUE(zero.withdraw(next, kFirst));
  EXPECT_FALSE(one.accept(next, kFirst));
}

TEST_F(Ledger, the_owner_sees_when_a_message_has_ended) {
  ASSERT_TRUE(zero.offer(kKey, kFirst) && one.accept(kKey, kFirst));
  EXPECT_FALSE(zero.has_ended(kKey, kFirst));
  one.end(kKey, kFirst);
  EXPECT_TRUE(zero.has_ended(kKey, kFirst));
  const MessageKey later{0, 0, PlaceLedger::kBuckets};  // the same line
  ASSERT_TRUE(one.offer(later, kOther));
  EXPECT_TRUE(zero.has_ended(kKey, kFirst));
  one.end(kKey, kFirst);
  EXPECT_EQ(zero.named_by_peer(later), kOther) << "who ends a message ends no other";
}

TEST_F(Ledger, a_word_of_the_other_end_that_names_no_place_names_none) {
  ASSERT_TRUE(zero.offer(kKey, kFirst));
  auto& word = memory->words[0][0];
  const std::uint64_t offer = word.load(), codes = std::uint64_t{0x1fff} << 1;
  for (const std::uint64_t code : {std::uint64_t{0}, 2 * PlaceId::kPlaces + 1, std::uint64_t{0x1fff}}) {
    EXPECT_FALSE(PlaceId::parse(code));
    word = (offer & ~codes) | code << 1;
    EXPECT_FALSE(one.named_by_peer(kKey));
  }
  for (const std::uint64_t code : {std::uint64_t{1}, std::uint64_t{2} * PlaceId::kPlaces})
    EXPECT_EQ(PlaceId::parse(code).value().code(), code);
  EXPECT_FALSE(PlaceId::parse(~std::uint64_t{0}));
}

TEST_F(Ledger, directions_tags_and_numbers_are_told_apart) {
  ASSERT_TRUE(zero.offer({0, 5, 9}, kFirst));
  for (const MessageKey& other :
       {MessageKey{1, 5, 9}, {0, 6, 9}, {0, 5, 8}, {0, 5, 9 + PlaceLedger::kBuckets}})
    EXPECT_FALSE(one.named_by_peer(other).has_value());
  EXPECT_FALSE(one.offer({0, 5, 9 + PlaceLedger::kBuckets}, kOther)) << "no second message in a line";
  EXPECT_TRUE(one.offer({1, 5, 9}, kOther));
}

TEST_F(Ledger, a_place_survives_its_code) {
  for (const PlaceId place : {kFirst, kOther, PlaceId{0, PlaceId::kPlaces - 1}, {1, PlaceId::kPlaces - 1}}) {
    EXPECT_EQ(PlaceId::of_code(place.code()), place);
    ASSERT_TRUE((place.end == 0 ? zero : one).offer({1, kMaxTag - 1, 1}, place));
    EXPECT_EQ((place.end == 0 ? one : zero).named_by_peer({1, kMaxTag - 1, 1}), place);
    ASSERT_TRUE((place.end == 0 ? zero : one).withdraw({1, kMaxTag - 1, 1}, place));
  }
}

TEST_F(Ledger, of_two_ends_that_offer_at_once_one_is_first) {
  constexpr std::uint64_t kMessages = 20000;
  std::vector<char> first[2] = {std::vector<char>(kMessages), std::vector<char>(kMessages)};
  std::vector<std::thread> threads;
  for (const int end : {0, 1})
    threads.emplace_back([&, end] {
      PlaceLedger& ledger = end == 0 ? zero : one;
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        const MessageKey key{0, 3, i};
        const bool is_first = ledger.offer(key, {end, i % PlaceId::kPlaces});
        first[end][i] = is_first;
        if (is_first) {
          while (!ledger.has_ended(key, {end, i % PlaceId::kPlaces})) std::this_thread::yield();
        } else {
          const auto theirs = ledger.named_by_peer(key);
          ASSERT_TRUE(theirs.has_value() && ledger.accept(key, *theirs));
          ledger.end(key, *theirs);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_NE(first[0][i], first[1][i]) << i;
}

}  // namespace
}  // namespace tenax::comm
