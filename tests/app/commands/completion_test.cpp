#include "app/commands/commands.hpp"

#include <gtest/gtest.h>

#include "app/commands/help.hpp"
#include "io/deck/deck_key.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

TEST(Completion, has_every_command_and_every_key_of_a_deck) {
  for (const char* shell : {"bash", "zsh"}) {
    const std::string script = completion_script(shell);
    for (const CommandHelp& command : command_helps())
      EXPECT_NE(script.find("    " + std::string(command.name) + ") echo "), std::string::npos)
          << command.name;
    for (const io::DeckKey& key : io::deck_keys())
      EXPECT_NE(script.find((key.section == "inject" ? "inject.0" : key.section) + "." + key.name + "="),
                std::string::npos)
          << key.full_name();
  }
}

TEST(Completion, takes_options_and_their_values_from_the_usage_that_help_shows) {
  const std::string script = completion_script("bash");
  for (const char* line :
       {"schedule,--policy) echo \"gpipe 1f1b zero_bubble adaptive\"", "tokenize,--vocab) echo \"FOLDER\"",
        "evaluate,--data) echo \"FILE\"", "trace) echo \"--csv --help\"",
        "model.compute_dtype) echo \"fp32 bf16\"", "run.tensorboard) echo \"true false\""})
    EXPECT_NE(script.find(line), std::string::npos) << line;
  EXPECT_EQ(script.find("plan,--json"), std::string::npos) << "a flag has no value";
}

TEST(Completion, is_for_two_shells) {
  try {
    completion_script("fish");
    FAIL() << "no error";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
  }
}

}  // namespace
}  // namespace tenax::app
