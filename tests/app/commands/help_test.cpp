// What the first word of a command line may be, and how errors are worded.
#include "app/commands/help.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "app/console.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

std::string refusal(const std::string& word) {
  try {
    check_is_deck(word);
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
  return "";
}

TEST(FirstWord, that_is_no_command_is_called_so_with_the_one_that_was_meant) {
  EXPECT_EQ(refusal("evalute"), "unknown command 'evalute'; did you mean evaluate? (see tenax --help)");
  EXPECT_EQ(refusal("trian"),
            "unknown command 'trian'; to train, leave it out: tenax DECK (see tenax --help)");
  EXPECT_EQ(refusal("train"),
            "unknown command 'train'; to train, leave it out: tenax DECK (see tenax --help)");
  EXPECT_EQ(refusal("mydeck"), "unknown command 'mydeck' (see tenax --help)");
  EXPECT_EQ(refusal("--hlep"), "unknown option --hlep; did you mean --help? (see tenax --help)");
}

TEST(FirstWord, is_a_deck_where_it_names_a_file_or_might) {
  EXPECT_EQ(refusal("absent.toml"), "");
  EXPECT_EQ(refusal("folder/absent"), "");
  for (const char* word : {"plan", "launch", "help", "--version", "-h"})
    EXPECT_FALSE(may_be_deck(word)) << word;
  EXPECT_TRUE(may_be_deck("deck.toml"));
}

TEST(Message, is_one_line_without_control_characters_of_at_most_4000_bytes) {
  EXPECT_EQ(message_of(std::runtime_error("a\nb \x1b[31m")), "a\\nb \\u001b[31m");
  EXPECT_EQ(message_of(std::runtime_error(std::string(100'000'000, 'x'))).size(), 4000U);
}

TEST(Message, says_memory_where_the_library_says_its_types) {
  for (const std::string& message :
       {message_of(std::bad_alloc()), message_of(std::length_error("vector::_M_default_append"))})
    EXPECT_EQ(message.find("there is not enough memory"), 0U) << message;
}

}  // namespace
}  // namespace tenax::app
