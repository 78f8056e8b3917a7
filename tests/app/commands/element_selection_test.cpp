#include "app/commands/element_selection.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace tenax::app {
namespace {

TEST(ElementSelection, is_a_name_with_or_without_a_range) {
  const std::string name = "h.0.mlp.c_fc.weight";
  EXPECT_EQ(parse_selection(name), (ElementSelection{name, 0, {}}));
  EXPECT_EQ(parse_selection(name + "[7]"), (ElementSelection{name, 7, 8}));
  EXPECT_EQ(parse_selection(name + "[96:128]"), (ElementSelection{name, 96, 128}));
  EXPECT_EQ(parse_selection(name + "[96:]"), (ElementSelection{name, 96, {}}));
  EXPECT_EQ(parse_selection(name + "[:128]"), (ElementSelection{name, 0, 128}));
  EXPECT_EQ(parse_selection(name + "[:]"), (ElementSelection{name, 0, {}}));
}

TEST(ElementSelection, takes_what_inspect_lists_of_outliers) {
  EXPECT_EQ(parse_selection("/model/wte.weight[1:2]"), (ElementSelection{"wte.weight", 1, 2}));
  EXPECT_EQ(parse_selection("/optimizer/exp_avg/wte.weight[1:2]"), (ElementSelection{"wte.weight", 1, 2}));
}

TEST(ElementSelection, of_another_form_is_a_mistake_of_the_command_line) {
  for (const char* text :
       {"", "[1:2]", "/model/", "a[", "a[]", "a[1", "a[1:2", "a[1:2]b", "a[x]", "a[1:x]", "a[-1]", "a[2:2]",
        "a[3:2]", "a[:0]", "a[1:2:3]", "a[ 1]", "a[1][2]", "a[99999999999999999999]"}) {
    try {
      parse_selection(text);
      ADD_FAILURE() << text;
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 2) << text;
      EXPECT_NE(std::string(error.what()).find("NAME[I:J]"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tenax::app
