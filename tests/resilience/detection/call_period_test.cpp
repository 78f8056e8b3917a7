#include "resilience/detection/call_period.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "resilience/detection/call_iterations.hpp"
#include "tests/resilience/detection/call_patterns.hpp"

namespace tenax::resilience {
namespace {

/// The iteration times found are the true ones but for the last, which no call follows: each within 1.2 %.
void expect_truth(const CallPattern& pattern, std::size_t calls) {
  const auto period = find_call_period(pattern.log());
  ASSERT_TRUE(period);
  EXPECT_EQ(period->period, calls);
  const std::vector<CallIteration> found = call_iterations(pattern.log(), *period);
  ASSERT_EQ(found.size() + 1, pattern.truth().size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i].seconds / pattern.truth()[i], 1, found[i].is_masked ? 0.1 : 0.012) << i;
}

void expect_none(const CallPattern& pattern) {
  const auto period = find_call_period(pattern.log());
  EXPECT_FALSE(period) << period->period;
}

TEST(CallPeriod, is_found_from_three_iterations) {
  for (const std::string calls : {"A", "AB", "ABCA", "AABAB", "AAAAAAB", "ABCDEFGHIJ"}) {
    CallPattern pattern;
    for (int i = 0; i < 3; ++i) pattern.iteration(calls);
    expect_truth(pattern, calls.size());
  }
}

TEST(CallPeriod, of_fifty_microbatches_ends_with_the_call_after_them) {
  for (const int iterations : {3, 4, 40}) {
    CallPattern pattern;
    for (int i = 0; i < iterations; ++i) pattern.iteration(times(50, "AB") + "C");
    expect_truth(pattern, 101);
  }
}

TEST(CallPeriod, holds_microbatches_and_layers_within_them) {
  for (const std::string& calls :
       {times(96, "A") + "g", times(100, "AB") + "C", times(24, "A") + times(24, "AB"),
        times(8, "SAAAAR") + "Gn", times(12, "AT") + times(12, "ATR") + "g",
        "RRRR" + times(12, "SRSR") + "SSSSGG"}) {
    CallPattern pattern;
    for (int i = 0; i < 12; ++i) pattern.iteration(calls);
    expect_truth(pattern, calls.size());
  }
}

TEST(CallPeriod, is_an_iteration_where_evaluations_lie_between) {
  for (const std::string& calls :
       {std::string("ABC"), std::string("ABCDEFGH"), times(8, "AB") + "CD", std::string("RABBBCg")})
    for (const std::string& evaluation :
         {std::string("V"), std::string("v"), times(5, "VW") + "v", times(4, calls.substr(0, 2))}) {
      CallPattern pattern;
      for (int i = 1; i <= 100; ++i) {
        pattern.iteration(calls);
        if (i % 20 == 0 && i < 100) pattern.other(evaluation, 3);
      }
      expect_truth(pattern, calls.size());
    }
}

TEST(CallPeriod, masks_the_iteration_before_an_evaluation) {
  CallPattern pattern;
  for (int i = 1; i <= 60; ++i) {
    pattern.iteration("ABCD");
    if (i % 20 == 0) pattern.other("VVV", 5);
  }
  const auto found = call_iterations(pattern.log(), *find_call_period(pattern.log()));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].is_masked, i % 20 == 19) << i;
}

TEST(CallPeriod, masks_an_iteration_with_other_calls_in_its_midst) {
  CallPattern pattern;
  for (int i = 0; i < 30; ++i) pattern.iteration("ABCD");
  pattern.iteration("ABvCD");
  for (int i = 0; i < 30; ++i) pattern.iteration("ABCD");
  const auto found = call_iterations(pattern.log(), *find_call_period(pattern.log()));
  ASSERT_EQ(found.size(), 60u);
  EXPECT_TRUE(found[30].is_masked);
  EXPECT_NEAR(found[30].seconds, pattern.truth()[30], 0.012);
}

TEST(CallPeriod, is_told_by_name_where_bytes_keep_changing) {
  CallPattern pattern;
  for (int i = 0; i < 30; ++i) pattern.iteration("AB?CB");
  expect_truth(pattern, 5);
  CallPattern few;  // three sizes, in no order
  for (int i = 0; i < 50; ++i) {
    few.iteration("ABC");
    few.call('M', 1 + few.any(2));
  }
  const auto period = find_call_period(few.log());
  ASSERT_TRUE(period);
  EXPECT_EQ(period->period, 4u);
}

TEST(CallPeriod, is_found_after_a_start_that_repeats_nothing) {
  CallPattern pattern;
  pattern.other("BARYCENTXQZ", 7);
  for (int i = 0; i < 20; ++i) pattern.iteration("AABAC");
  const auto period = find_call_period(pattern.log());
  ASSERT_TRUE(period);
  EXPECT_EQ(period->period, 5u);
  EXPECT_EQ(call_iterations(pattern.log(), *period).size(), 19u);
}

TEST(CallPeriod, is_none_where_calls_have_none) {
  CallPattern nothing, once, random, sizes, twice;
  once.iteration("ABC");
  for (int i = 0; i < 1000; ++i) random.iteration(std::string(1, static_cast<char>('A' + random.any(3))));
  for (int i = 0; i < 100; ++i) sizes.iteration("?");
  for (int i = 0; i < 2; ++i) twice.iteration(times(50, "AB") + "C");
  for (const CallPattern* pattern : {&nothing, &once, &random, &sizes, &twice}) expect_none(*pattern);
}

TEST(CallPeriod, is_none_where_few_microbatches_alternate_with_other_calls) {
  CallPattern pattern;
  for (int i = 0; i < 2; ++i) pattern.iteration(times(8, "ABC") + "g");
  expect_none(pattern);
}

/// The letters of `calls` after the first, in any order.
std::string shuffled(std::string calls, CallPattern& pattern) {
  for (std::size_t left = calls.size() - 1; left > 1; --left)
    std::swap(calls[left],
              calls[1 + static_cast<std::size_t>(pattern.any(static_cast<std::int64_t>(left) - 1))]);
  return calls;
}

TEST(CallAnchor, begins_iterations_whose_calls_change_their_order) {
  CallPattern pattern;
  for (int i = 1; i <= 100; ++i) {
    pattern.iteration(shuffled("ABBBCCCd", pattern));
    if (i % 20 == 0) pattern.other("BCBCBC", 2);
  }
  EXPECT_FALSE(find_call_period(pattern.log()));
  const auto found = find_call_iterations(pattern.log());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 99u);
  for (std::size_t i = 0; i < found->size(); ++i) {
    EXPECT_EQ((*found)[i].is_masked, i % 20 == 19) << i;
    EXPECT_NEAR((*found)[i].seconds - ((*found)[i].is_masked ? 2 : 0), pattern.truth()[i], 0.012) << i;
  }
}

TEST(CallAnchor, is_none_where_calls_have_none) {
  CallPattern random, microbatches;
  for (int i = 0; i < 5000; ++i) random.iteration(std::string(1, static_cast<char>('A' + random.any(5))));
  for (int i = 0; i < 400; ++i) microbatches.iteration(microbatches.any(9) ? "AB" : "ABC");
  EXPECT_FALSE(find_call_iterations(random.log()));
  EXPECT_FALSE(find_call_iterations(microbatches.log()));
}

TEST(CallPeriod, is_found_in_a_million_calls) {
  CallPattern pattern;
  for (int i = 0; i < 1000; ++i) pattern.iteration(times(499, "AB") + "CD");
  expect_truth(pattern, 1000);
}

}  // namespace
}  // namespace tenax::resilience
