#include "resilience/replicas/slice_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenax::resilience {
namespace {

/// How many slices each of `sources` gives to `queue`, all equally fast, one ahead.
std::vector<int> given_by_turns(SliceQueue& queue, int slices, int sources) {
  std::vector<int> given(static_cast<std::size_t>(sources), 0);
  std::vector<std::vector<int>> asked(static_cast<std::size_t>(sources));
  while (queue.here() < slices)
    for (int source = 0; source < sources; ++source) {
      auto& owed = asked[static_cast<std::size_t>(source)];
      while (owed.size() < 2) {
        const auto slice = queue.next(source, owed);
        if (!slice) break;
        owed.push_back(*slice);
      }
      if (owed.empty()) continue;
      if (queue.take(owed.front())) ++given[static_cast<std::size_t>(source)];
      owed.erase(owed.begin());
    }
  return given;
}

TEST(SliceQueue, takes_as_much_from_each_source) {
  SliceQueue queue(12, 3, 0);
  EXPECT_EQ(given_by_turns(queue, 12, 3), (std::vector<int>{4, 4, 4}));
}

TEST(SliceQueue, takes_what_is_left_over_from_another_source_for_each_that_fetches) {
  std::vector<int> all(3, 0);
  for (int fetching = 0; fetching < 3; ++fetching) {
    SliceQueue queue(4, 3, fetching);
    const auto given = given_by_turns(queue, 4, 3);
    EXPECT_EQ(*std::max_element(given.begin(), given.end()), 2);
    for (std::size_t source = 0; source < 3; ++source) all[source] += given[source];
  }
  EXPECT_EQ(all, (std::vector<int>{4, 4, 4}));
}

TEST(SliceQueue, does_not_let_the_first_source_to_connect_give_all_of_a_small_state) {
  SliceQueue queue(2, 2, 0);
  EXPECT_EQ(queue.next(0, {}), 0);
  EXPECT_FALSE(queue.next(0, {0})) << "the other one's turn";
  EXPECT_EQ(queue.next(1, {}), 1);
}

TEST(SliceQueue, lets_a_source_that_has_given_its_own_help_those_that_are_slower) {
  SliceQueue queue(4, 2, 0);
  for (const int own : {0, 2}) {
    ASSERT_EQ(queue.next(0, {}), own);
    ASSERT_TRUE(queue.take(own));
  }
  ASSERT_EQ(queue.next(1, {}), 1);
  EXPECT_EQ(queue.next(0, {}), 3) << "nobody has been asked for it";
  ASSERT_TRUE(queue.take(3));
  EXPECT_FALSE(queue.next(0, {})) << "the other one owes it";
  EXPECT_EQ(queue.next(0, {}, true), 1) << "for long";
  EXPECT_TRUE(queue.take(1));
  EXPECT_FALSE(queue.take(1)) << "it came twice";
  EXPECT_FALSE(queue.next(1, {}));
}

TEST(SliceQueue, shares_out_what_a_source_that_is_gone_would_have_given) {
  SliceQueue queue(6, 2, 1);
  ASSERT_EQ(queue.next(0, {}), 1);
  queue.leave(0, {1});
  std::vector<int> owed;
  for (const int slice : {0, 2, 4, 1, 3, 5}) {
    ASSERT_EQ(queue.next(1, owed), slice);
    owed = {slice};
    ASSERT_TRUE(queue.take(slice));
  }
}

}  // namespace
}  // namespace tenax::resilience
