#include "app/supervisor/take_over.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

TEST(TakeOver, of_nobody_is_not_in_vain) {
  const TakeOver none;
  EXPECT_FALSE(none.is_awaited(0));
  EXPECT_FALSE(none.is_in_vain());
}

TEST(TakeOver, waits_for_the_first_that_tells) {
  TakeOver both;
  both.add(0, true, 10);
  both.add(2, true, 10);
  both.on_end(0);
  EXPECT_TRUE(both.is_awaited(11));
  EXPECT_FALSE(both.is_in_vain());
  both.on_heard(1);  // it was started since
  EXPECT_TRUE(both.is_awaited(11));
  both.on_heard(2);
  EXPECT_FALSE(both.is_awaited(11));
  both.on_end(2);
  EXPECT_FALSE(both.is_in_vain());
}

TEST(TakeOver, is_in_vain_where_all_end_unheard) {
  TakeOver both;
  both.add(0, true, 10);
  both.add(1, false, 10);  // it ended as it was adopted
  EXPECT_TRUE(both.is_awaited(11));
  both.on_end(0);
  EXPECT_FALSE(both.is_awaited(11));
  EXPECT_TRUE(both.is_in_vain());
}

TEST(TakeOver, does_not_wait_for_ever) {
  TakeOver one;
  one.add(0, true, 10);
  EXPECT_TRUE(one.is_awaited(9 + TakeOver::kPatience_s));
  EXPECT_FALSE(one.is_awaited(10 + TakeOver::kPatience_s));
  EXPECT_FALSE(one.is_in_vain());
}

}  // namespace
}  // namespace tenax::app
