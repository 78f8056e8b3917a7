#include "kernels/number_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tenax::kernels {
namespace {

TEST(NumberText, is_a_number_and_nothing_else) {
  EXPECT_EQ(number_of<int>("-42"), -42);
  EXPECT_EQ(number_of<double>("2.5e-3"), 2.5e-3);
  for (const char* const text : {"", " 1", "1 ", "+1", "1.5", "one", "0x1"})
    EXPECT_EQ(number_of<int>(text), std::nullopt) << text;
}

TEST(NumberText, fits_into_what_is_asked_for) {
  EXPECT_EQ(number_of<std::int8_t>("127"), 127);
  EXPECT_EQ(number_of<std::int8_t>("128"), std::nullopt);
  EXPECT_EQ(number_of<unsigned>("-1"), std::nullopt);
}

TEST(NumberText, may_have_another_base) {
  EXPECT_EQ(number_of<std::uint8_t>("ff", 16), 255);
  EXPECT_EQ(number_of<std::uint8_t>("fg", 16), std::nullopt);
}

TEST(NumberText, words_are_taken_one_by_one_until_there_is_none) {
  std::string_view text = "one  three";
  EXPECT_EQ(take_word(text), "one");
  EXPECT_EQ(take_word(text), "");
  EXPECT_EQ(take_word(text, 'r'), "th");
  EXPECT_EQ(take_word(text), "ee");
  EXPECT_EQ(take_word(text), "");
  EXPECT_EQ(text, "");
}

TEST(NumberText, that_another_rank_has_garbled_is_told_with_its_meaning) {
  EXPECT_EQ(sent_number<int>("7", "its rank"), 7);
  try {
    sent_number<int>("seven", "its rank");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a rank sent 'seven' as its rank, which is no number");
    EXPECT_EQ(error.scope(), Scope::rank);
  }
}

}  // namespace
}  // namespace tenax::kernels
