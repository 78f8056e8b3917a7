#include "app/command_line.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace tenax::app {
namespace {

const OptionTable kTable{"demo", {"out", "count"}, {"json"}, 1, 2};

TEST(CommandLine, takes_options_before_and_after_positional_arguments) {
  const CommandLine line(kTable, {"--out", "x.h5", "file", "--json", "--count=3"});
  EXPECT_EQ(line.positional(), std::vector<std::string>{"file"});
  EXPECT_EQ(line.text("out", ""), "x.h5");
  EXPECT_TRUE(line.has("json"));
  EXPECT_EQ(line.integer("count", 1, 0, 9), 3);
  EXPECT_EQ(CommandLine(kTable, {"file"}).integer("count", 1, 0, 9), 1);
}

class CommandLineRefuses : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(CommandLineRefuses, with_the_status_of_wrong_usage) {
  try {
    const CommandLine line(kTable, GetParam());
    line.integer("count", 1, 0, 9);
    FAIL() << "no error";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_EQ(std::string(error.what()).find("demo: "), 0U) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Mistakes, CommandLineRefuses,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"a", "b", "c"},
                                         std::vector<std::string>{"a", "--colour"},
                                         std::vector<std::string>{"a", "--out"},
                                         std::vector<std::string>{"a", "--count", "many"},
                                         std::vector<std::string>{"a", "--count", "12"},
                                         std::vector<std::string>{"a", "--json", "--json"}));

}  // namespace
}  // namespace tenax::app
