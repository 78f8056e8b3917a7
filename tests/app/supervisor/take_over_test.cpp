#include "app/supervisor/take_over.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

constexpr double kBegun_s = 10;

/// Of replicas 0 and 2.
class TakeOverOfTwo : public testing::Test {
 protected:
  TakeOverOfTwo() { take_over.begin({0, 2}, kBegun_s); }
  TakeOver take_over;
};

TEST(TakeOver, that_has_not_begun_is_not_in_vain) {
  TakeOver none;
  none.on_end(0);
  none.on_time(1e9);
  EXPECT_FALSE(none.is_awaited());
  EXPECT_FALSE(none.is_in_vain());
}

TEST_F(TakeOverOfTwo, waits_for_the_first_that_tells) {
  take_over.on_end(0);
  EXPECT_TRUE(take_over.is_awaited());
  EXPECT_FALSE(take_over.is_in_vain());
  take_over.on_heard(1);  // it does not hold the state
  EXPECT_TRUE(take_over.is_awaited());
  take_over.on_heard(2);
  EXPECT_FALSE(take_over.is_awaited());
  take_over.on_end(2);
  EXPECT_FALSE(take_over.is_in_vain());
}

TEST_F(TakeOverOfTwo, is_in_vain_where_all_end_unheard) {
  take_over.on_end(0);
  take_over.on_end(2);
  EXPECT_FALSE(take_over.is_awaited());
  EXPECT_TRUE(take_over.is_in_vain());
}

TEST_F(TakeOverOfTwo, does_not_wait_for_ever) {
  take_over.on_time(kBegun_s + TakeOver::kPatience_s - 1);
  EXPECT_TRUE(take_over.is_awaited());
  take_over.on_time(kBegun_s + TakeOver::kPatience_s);
  EXPECT_FALSE(take_over.is_awaited());
  take_over.on_end(0);
  take_over.on_end(2);
  EXPECT_FALSE(take_over.is_in_vain()) << "others have been started since";
}

}  // namespace
}  // namespace tenax::app
