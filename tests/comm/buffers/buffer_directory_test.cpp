// The directory in which two ends agree on buffers.
#include "comm/buffers/buffer_directory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tenax::comm {
namespace {

class Directory : public ::testing::Test {
 protected:
  std::unique_ptr<BufferDirectory::Memory> memory = std::make_unique<BufferDirectory::Memory>();
  BufferDirectory zero{*memory, 0}, one{*memory, 1};
  static constexpr MessageKey kKey{0, 0, 0};
  static constexpr SharedBufferId kFirst{0, 0}, kOther{1, 7};
};

TEST_F(Directory, a_buffer_that_one_end_offers_is_found_by_the_other) {
  EXPECT_FALSE(one.offered_by_peer(kKey).has_value());
  EXPECT_TRUE(zero.offer(kKey, kFirst));
  EXPECT_EQ(one.offered_by_peer(kKey), kFirst);
  EXPECT_FALSE(zero.offered_by_peer(kKey).has_value()) << "its own";
  EXPECT_FALSE(one.offer(kKey, kOther)) << "there is one";
}

TEST_F(Directory, an_offer_is_taken_back_or_accepted_but_never_both) {
  ASSERT_TRUE(zero.offer(kKey, kFirst));
  EXPECT_TRUE(one.accept(kKey, kFirst));
  EXPECT_TRUE(one.accept(kKey, kFirst)) << "again";
  EXPECT_FALSE(zero.cancel(kKey, kFirst));
  const MessageKey next{0, 0, 1};
  ASSERT_TRUE(zero.offer(next, kFirst));
  EXPECT_TRUE(zero.cancel(next, kFirst));
  EXPECT_FALSE(one.accept(next, kFirst));
}

TEST_F(Directory, the_owner_sees_when_a_message_has_ended) {
  ASSERT_TRUE(zero.offer(kKey, kFirst) && one.accept(kKey, kFirst));
  EXPECT_FALSE(zero.is_released(kKey, kFirst));
  one.release(kKey, kFirst);
  EXPECT_TRUE(zero.is_released(kKey, kFirst));
  const MessageKey later{0, 0, BufferDirectory::kBuckets};  // the same line
  ASSERT_TRUE(one.offer(later, kOther));
  EXPECT_TRUE(zero.is_released(kKey, kFirst));
  one.release(kKey, kFirst);
  EXPECT_EQ(zero.offered_by_peer(later), kOther) << "who ends a message ends no other";
}

TEST_F(Directory, a_word_of_the_other_end_that_names_no_buffer_names_none) {
  ASSERT_TRUE(zero.offer(kKey, kFirst));
  auto& word = memory->words[0][0];
  const std::uint64_t offer = word.load(), codes = std::uint64_t{0x1fff} << 1;
  for (const std::uint64_t code :
       {std::uint64_t{0}, 2 * SharedBufferId::kBuffers + 1, std::uint64_t{0x1fff}}) {
    EXPECT_FALSE(SharedBufferId::parse(code));
    word = (offer & ~codes) | code << 1;
    EXPECT_FALSE(one.offered_by_peer(kKey));
  }
  for (const std::uint64_t code : {std::uint64_t{1}, std::uint64_t{2} * SharedBufferId::kBuffers})
    EXPECT_EQ(SharedBufferId::parse(code).value().code(), code);
  EXPECT_FALSE(SharedBufferId::parse(~std::uint64_t{0}));
}

TEST_F(Directory, directions_tags_and_numbers_are_told_apart) {
  ASSERT_TRUE(zero.offer({0, 5, 9}, kFirst));
  for (const MessageKey& other :
       {MessageKey{1, 5, 9}, {0, 6, 9}, {0, 5, 8}, {0, 5, 9 + BufferDirectory::kBuckets}})
    EXPECT_FALSE(one.offered_by_peer(other).has_value());
  EXPECT_FALSE(one.offer({0, 5, 9 + BufferDirectory::kBuckets}, kOther)) << "no second message in a line";
  EXPECT_TRUE(one.offer({1, 5, 9}, kOther));
}

TEST_F(Directory, a_buffer_survives_its_code) {
  for (const SharedBufferId buffer :
       {kFirst, kOther, SharedBufferId{0, SharedBufferId::kBuffers - 1}, {1, SharedBufferId::kBuffers - 1}}) {
    EXPECT_EQ(SharedBufferId::of_code(buffer.code()), buffer);
    ASSERT_TRUE((buffer.end == 0 ? zero : one).offer({1, kMaxTag - 1, 1}, buffer));
    EXPECT_EQ((buffer.end == 0 ? one : zero).offered_by_peer({1, kMaxTag - 1, 1}), buffer);
    ASSERT_TRUE((buffer.end == 0 ? zero : one).cancel({1, kMaxTag - 1, 1}, buffer));
  }
}

TEST_F(Directory, of_two_ends_that_offer_at_once_one_is_first) {
  constexpr std::uint64_t kMessages = 20000;
  std::vector<char> first[2] = {std::vector<char>(kMessages), std::vector<char>(kMessages)};
  std::vector<std::thread> threads;
  for (const int end : {0, 1})
    threads.emplace_back([&, end] {
      BufferDirectory& directory = end == 0 ? zero : one;
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        const MessageKey key{0, 3, i};
        const bool is_first = directory.offer(key, {end, i % SharedBufferId::kBuffers});
        first[end][i] = is_first;
        if (is_first) {
          while (!directory.is_released(key, {end, i % SharedBufferId::kBuffers})) std::this_thread::yield();
        } else {
          const auto theirs = directory.offered_by_peer(key);
          ASSERT_TRUE(theirs.has_value() && directory.accept(key, *theirs));
          directory.release(key, *theirs);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_NE(first[0][i], first[1][i]) << i;
}

}  // namespace
}  // namespace tenax::comm
