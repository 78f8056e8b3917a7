#include "comm/delegates/address_choice.hpp"

#include <gtest/gtest.h>

namespace tenax::comm {
namespace {

TEST(AddressChoice, takes_the_best_that_is_not_left_alone) {
  AddressChoice choice(3);
  EXPECT_EQ(choice.next(10), 0U);
  choice.failed(0, 10);
  EXPECT_EQ(choice.next(10), 1U);
  choice.failed(1, 10);
  EXPECT_EQ(choice.next(10.5), 2U);
  EXPECT_EQ(choice.next(11), 0U) << "a second later";
}

TEST(AddressChoice, tries_one_after_the_other_where_all_have_failed) {
  AddressChoice choice(3);
  for (const std::size_t address : {0U, 1U, 2U})
    choice.failed(address, 10 + 0.1 * static_cast<double>(address));
  EXPECT_EQ(choice.next(10.3), 0U);
  choice.failed(0, 10.3);
  EXPECT_EQ(choice.next(10.4), 1U);
}

TEST(AddressChoice, waits_longer_after_each_failure_but_not_for_ever) {
  AddressChoice choice(2);
  double now_s = 0;
  for (const double rest_s : {1.0, 2.0, 4.0, 5.0, 5.0}) {
    choice.failed(0, now_s);
    EXPECT_EQ(choice.better_than(1, now_s + rest_s - 0.01), std::nullopt) << rest_s;
    now_s += rest_s;
    EXPECT_EQ(choice.better_than(1, now_s), 0U) << rest_s;
  }
}

TEST(AddressChoice, begins_anew_where_it_had_worked_for_a_minute) {
  AddressChoice choice(2);
  for (int i = 0; i < 5; ++i) choice.failed(0, i);
  choice.worked(0, 10);
  EXPECT_EQ(choice.next(10), 0U);
  choice.failed(0, 70);
  EXPECT_EQ(choice.next(70.9), 1U);
  EXPECT_EQ(choice.next(71), 0U);
}

TEST(AddressChoice, knows_no_better_one_than_the_first) {
  EXPECT_EQ(AddressChoice(2).better_than(0, 1), std::nullopt);
  EXPECT_EQ(AddressChoice(2).better_than(1, 1), 0U);
}

}  // namespace
}  // namespace tenax::comm
