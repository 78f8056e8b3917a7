#include "resilience/diagnosis/component.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

TEST(SlowCause, has_the_words_of_the_event) {
  EXPECT_STREQ(name_of(SlowCause::none), "none");
  EXPECT_STREQ(name_of(SlowCause::compute), "compute");
  EXPECT_STREQ(name_of(SlowCause::cpu_contention), "cpu_contention");
  EXPECT_STREQ(name_of(SlowCause::link), "link");
  EXPECT_STREQ(name_of(SlowCause::several), "several");
  EXPECT_STREQ(name_of(SlowCause::common), "common");
}

TEST(SlowCause, of_components_is_theirs_or_several) {
  const Component slow{.rank = 1, .cause = SlowCause::compute};
  const Component contended{.rank = 2, .cause = SlowCause::cpu_contention};
  EXPECT_EQ(cause_of({}), SlowCause::none);
  EXPECT_EQ(cause_of({slow, slow}), SlowCause::compute);
  EXPECT_EQ(cause_of({slow, contended}), SlowCause::several);
}

TEST(Suspects, count_a_group_of_n_ranks_as_n_links) {
  EXPECT_EQ(Suspects{}.count(), 0U);
  const Suspects suspects{.components = {{.rank = 3}},
                          .groups = {{.ranks = {0, 2, 4}}, {.ranks = {1, 3, 5, 7}}}};
  EXPECT_EQ(suspects.count(), 8U);
}

}  // namespace
}  // namespace tenax::resilience
