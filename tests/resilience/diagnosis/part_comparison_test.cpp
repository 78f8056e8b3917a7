#include "resilience/diagnosis/part_comparison.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

// The suspects among parts that took `healthy` and take `now`.
std::vector<std::size_t> suspects_of(const std::vector<PartFigure>& parts) {
  const PartComparison comparison(parts, 1.1);
  std::vector<std::size_t> suspects;
  for (std::size_t part = 0; part < comparison.size(); ++part)
    if (comparison.is_suspect(part)) suspects.push_back(part);
  return suspects;
}

bool is_common(const std::vector<PartFigure>& parts) { return PartComparison(parts, 1.1).is_common(); }

using Indices = std::vector<std::size_t>;

TEST(PartComparison, compares_two_parts_with_the_faster) {
  EXPECT_EQ(suspects_of({{.now_s = 1.0}, {.now_s = 1.2}}), Indices{1});
  EXPECT_EQ(suspects_of({{.now_s = 1.0}, {.now_s = 1.09}}), Indices{});
}

TEST(PartComparison, compares_parts_of_equal_work_alone) {
  EXPECT_EQ(suspects_of({{.work = 1, .now_s = 1}, {.work = 2, .now_s = 2}}), Indices{});
  EXPECT_EQ(suspects_of({{.work = 2, .now_s = 3}, {.work = 1, .now_s = 1}, {.work = 2, .now_s = 2}}),
            Indices{0});
}

TEST(PartComparison, compares_with_what_peers_take_at_the_most) {
  EXPECT_EQ(suspects_of({{.now_s = 3}, {.now_s = 0}, {.now_s = 0}}), Indices{0});
  EXPECT_EQ(suspects_of({{.now_s = 3}, {.now_s = 0, .most_s = 5}, {.now_s = 0, .most_s = 5}}), Indices{});
}

TEST(PartComparison, asks_no_part_of_which_only_a_bound_is_known_what_all_share) {
  const PartFigure slower{.now_s = 1.5, .healthy_s = 1}, bounded{.healthy_s = 1, .most_s = 5};
  EXPECT_EQ(PartComparison({slower, slower, bounded, bounded}, 1.1).shared_growth(), 1.5);
}

TEST(PartComparison, bears_with_a_part_that_always_was_slower) {
  EXPECT_EQ(suspects_of({{.now_s = 1, .healthy_s = 1}, {.now_s = 1.3, .healthy_s = 1.3}}), Indices{});
  EXPECT_EQ(suspects_of({{.now_s = 1, .healthy_s = 1}, {.now_s = 1.9, .healthy_s = 1.3}}), Indices{1});
}

TEST(PartComparison, takes_a_small_excess_for_noise) {
  const PartFigure healthy{.now_s = 1e-5, .healthy_s = 1e-5, .floor_s = 1e-3};
  EXPECT_EQ(suspects_of({healthy, {.now_s = 9e-4, .healthy_s = 1e-5, .floor_s = 1e-3}}), Indices{});
  EXPECT_EQ(suspects_of({healthy, {.now_s = 2e-3, .healthy_s = 1e-5, .floor_s = 1e-3}}), Indices{1});
}

TEST(PartComparison, compares_a_part_without_peers_with_its_own_history) {
  EXPECT_EQ(suspects_of({{.now_s = 1.2, .healthy_s = 1}}), Indices{0});
  EXPECT_EQ(suspects_of({{.now_s = 1.2}}), Indices{}) << "nothing tells";
}

TEST(PartComparison, finds_all_parts_of_a_work_when_others_have_not_changed) {
  EXPECT_EQ(suspects_of({{.work = 1, .now_s = 1.5, .healthy_s = 1},
                         {.work = 1, .now_s = 1.5, .healthy_s = 1},
                         {.work = 2, .now_s = 2, .healthy_s = 2},
                         {.work = 2, .now_s = 2, .healthy_s = 2}}),
            (Indices{0, 1}));
}

TEST(PartComparison, blames_no_part_for_what_all_share) {
  const std::vector<PartFigure> alike = {{.work = 1, .now_s = 1.5, .healthy_s = 1},
                                         {.work = 2, .now_s = 3.1, .healthy_s = 2},
                                         {.work = 3, .now_s = 1.55, .healthy_s = 1}};
  EXPECT_EQ(suspects_of(alike), Indices{});
  EXPECT_TRUE(is_common(alike));
}

TEST(PartComparison, calls_alike_what_differs_by_less_than_suspect) {
  EXPECT_TRUE(
      is_common({{.work = 1, .now_s = 1.5, .healthy_s = 1}, {.work = 2, .now_s = 1.63, .healthy_s = 1}}));
  EXPECT_EQ(
      suspects_of({{.work = 1, .now_s = 1.5, .healthy_s = 1}, {.work = 2, .now_s = 1.7, .healthy_s = 1}}),
      Indices{1});
}

TEST(PartComparison, finds_three_of_four_parts) {
  EXPECT_EQ(suspects_of({{.work = 1, .now_s = 1.5, .healthy_s = 1},
                         {.work = 2, .now_s = 1.5, .healthy_s = 1},
                         {.work = 3, .now_s = 1, .healthy_s = 1},
                         {.work = 4, .now_s = 1.5, .healthy_s = 1}}),
            (Indices{0, 1, 3}));
}

TEST(PartComparison, finds_the_part_that_is_slower_than_what_all_share) {
  const std::vector<PartFigure> parts = {{.now_s = 1.5, .healthy_s = 1},
                                         {.now_s = 4, .healthy_s = 1},
                                         {.now_s = 1.5, .healthy_s = 1},
                                         {.now_s = 1.8, .healthy_s = 1.2}};
  EXPECT_EQ(suspects_of(parts), Indices{1});
  EXPECT_FALSE(is_common(parts));
}

TEST(PartComparison, calls_nothing_common_that_is_noise_or_one_part_s) {
  EXPECT_FALSE(is_common({{.now_s = 2, .healthy_s = 1}}));
  EXPECT_FALSE(
      is_common({{.now_s = 2, .healthy_s = 1, .floor_s = 2}, {.now_s = 2, .healthy_s = 1, .floor_s = 2}}));
  EXPECT_FALSE(is_common({}));
}

TEST(PartComparison, tells_a_factor_against_history_else_against_peers) {
  const PartComparison known({{.now_s = 1, .healthy_s = 1}, {.now_s = 3, .healthy_s = 1.5}}, 1.1);
  EXPECT_DOUBLE_EQ(known.factor(1), 2);
  EXPECT_DOUBLE_EQ(known.excess_s(1), 1.5);
  const PartComparison unknown({{.now_s = 1}, {.now_s = 3}}, 1.1);
  EXPECT_DOUBLE_EQ(unknown.factor(1), 3);
  EXPECT_DOUBLE_EQ(unknown.healthy_s(1), 1);
}

}  // namespace
}  // namespace tenax::resilience
