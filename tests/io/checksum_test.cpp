#include "io/checksum.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::io {
namespace {

std::vector<std::uint32_t> some_words(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i * 2654435761U ^ i >> 3);
  return words;
}

std::uint64_t sum_of(const std::vector<std::uint32_t>& words) {
  return checksum_of_words(words.data(), static_cast<std::int64_t>(words.size()), 0);
}

// numpy.float32([0, 1, -2.5, 3e-39]) by the recipe in checksum.hpp.
TEST(Checksum, equals_what_numpy_computes) {
  const float values[] = {0.0F, 1.0F, -2.5F, 3e-39F};
  EXPECT_EQ(checksum_text(checksum_of_words(values, 4, 0)), "851dc8a3f204899f");
}

TEST(Checksum, of_pieces_in_any_order_adds_up_to_that_of_the_whole) {
  const auto words = some_words(1001);
  std::uint64_t sum = 0;
  for (const auto& [begin, end] : {std::pair{700, 1001}, {0, 1}, {1, 13}, {13, 700}}) {
    sum += checksum_of_words(words.data() + begin, end - begin, begin);
  }
  EXPECT_EQ(sum, sum_of(words));
}

// Alone, a word is summed without vectors.
TEST(Checksum, of_single_words_adds_up_to_that_of_the_whole) {
  const auto words = some_words(1001);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    sum += checksum_of_words(&words[i], 1, static_cast<std::int64_t>(i));
  EXPECT_EQ(sum, sum_of(words));
}

TEST(Checksum, changes_with_every_single_bit) {
  auto words = some_words(257);
  const std::uint64_t before = sum_of(words);
  for (std::size_t bit = 0; bit < words.size() * 32; ++bit) {
    words[bit / 32] ^= 1U << bit % 32;
    EXPECT_NE(sum_of(words), before) << "bit " << bit;
    words[bit / 32] ^= 1U << bit % 32;
  }
}

TEST(Checksum, changes_when_two_words_change_places) {
  auto words = some_words(64);
  const std::uint64_t before = sum_of(words);
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::swap(words[0], words[i]);
    EXPECT_NE(sum_of(words), before) << i;
    std::swap(words[0], words[i]);
  }
}

TEST(Checksum, of_bytes_is_that_of_words_with_the_last_filled_up_with_zeros) {
  auto words = some_words(5);
  words[4] &= 0x00FFFFFFU;
  const auto bytes = std::as_bytes(std::span(words)).first(19);
  EXPECT_EQ(checksum_of_bytes(bytes, 0), sum_of(words));
  EXPECT_EQ(checksum_of_bytes(bytes.subspan(8), 8) + checksum_of_bytes(bytes.first(8), 0), sum_of(words));
}

TEST(Checksum, text_reads_back_and_anything_else_is_refused) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{0xFEDCBA9876543210U}, ~std::uint64_t{0}}) {
    EXPECT_EQ(parse_checksum(checksum_text(value)), value);
  }
  for (const char* text : {"", "123", "00000000000000001", "000000000000000g", "+000000000000001"}) {
    EXPECT_THROW(parse_checksum(text), kernels::Error) << text;
  }
}

}  // namespace
}  // namespace tenax::io
