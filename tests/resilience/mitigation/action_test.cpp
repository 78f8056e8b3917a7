// What rank 0 has decided, as the other ranks read it.
#include "resilience/mitigation/action.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

Action action() {
  Action action{.strategy = Strategy::swap, .placement = {}};
  action.placement.microbatches = {3, 5};
  action.placement.group_of_place = {1, 0};
  action.placement.ring_order[{0, 1}] = {0, 2, 1};
  action.placement.ring_order[{1, 0}] = {};
  return action;
}

TEST(Actions, are_read_as_they_were_written) {
  EXPECT_EQ(action_of_text(to_text(action())), action());
  EXPECT_EQ(action_of_text(to_text({})), Action{});
}

TEST(Actions, that_are_garbled_or_cut_off_are_none) {
  const std::string text = to_text({.strategy = Strategy::ring, .placement = action().placement});
  EXPECT_THROW(action_of_text(text.substr(0, text.size() - 2)), kernels::Error);
  for (const char* const garbled :
       {"", "two", "2 two 3 5", "2 999999999 3 5", "2 1 3.5 0", "2 0 0 1", "2 0 0 0 1 2 7", "9999999999 0 0"})
    EXPECT_THROW(action_of_text(garbled), kernels::Error) << garbled;
}

}  // namespace
}  // namespace tenax::resilience
