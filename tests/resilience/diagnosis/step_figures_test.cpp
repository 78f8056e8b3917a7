// A rank's figures of an iteration, from records of passes and collectives.
#include "resilience/diagnosis/step_figures.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

parallel::PassRecord pass(double begin_s, double end_s) {
  return {.op = {}, .begin_s = begin_s, .end_s = end_s};
}

comm::CollectiveRecord collective(const char* group, double begin_s, double end_s, std::size_t bytes = 8) {
  return {.kind = comm::CollectiveKind::all_reduce,
          .group = group,
          .ranks = 2,
          .bytes = bytes,
          .begin_s = begin_s,
          .end_s = end_s};
}

TEST(StepFigures, computing_is_passes_without_the_tensor_collectives_in_them) {
  StepFigures figures([] { return 0.0; });
  figures.on_pass(pass(1, 3));
  figures.on_pass(pass(3, 6));
  figures.on_pass(pass(10, 12));
  figures.on_collective(collective("tensor", 2.5, 3));
  figures.on_collective(collective("tensor", 5, 6));
  figures.on_collective(collective("tensor", 11, 12.5));  // half a second of it after the pass
  const RankFigures taken = figures.take();
  EXPECT_DOUBLE_EQ(taken.compute_s, 7 - 0.5 - 1 - 1);
  EXPECT_DOUBLE_EQ(taken.tensor_s, 0.5 + 1 + 1.5);
  EXPECT_EQ(taken.tensor_bytes, 24);
}

TEST(StepFigures, a_collective_may_span_several_passes) {
  StepFigures figures([] { return 0.0; });
  figures.on_pass(pass(0, 1));
  figures.on_pass(pass(2, 3));
  figures.on_pass(pass(4, 5));
  figures.on_collective(collective("tensor", 0.5, 4.5));
  EXPECT_DOUBLE_EQ(figures.take().compute_s, 0.5 + 0 + 0.5);
}

TEST(StepFigures, data_collectives_are_counted_apart_and_others_not_at_all) {
  StepFigures figures([] { return 0.25; });
  figures.on_pass(pass(0, 4));
  figures.on_collective(collective("data", 3, 5, 1000));
  figures.on_collective(collective("data", 6, 7, 1000));
  figures.on_collective(collective("embedding", 7, 9));
  EXPECT_EQ(figures.take(),
            (RankFigures{
                .compute_s = 4, .data_s = 3, .data_bytes = 2000, .data_messages = 4, .preempted_s = 0.25}));
}

// As those of buckets.
TEST(StepFigures, time_counts_once_while_several_data_collectives_are_under_way) {
  StepFigures figures([] { return 0.0; });
  figures.on_collective(collective("data", 2, 6, 1000));
  figures.on_collective(collective("data", 1, 4, 1000));
  figures.on_collective(collective("data", 3, 5, 1000));
  figures.on_collective(collective("data", 8, 9, 1000));
  const RankFigures taken = figures.take();
  EXPECT_DOUBLE_EQ(taken.data_s, 5 + 1);
  EXPECT_EQ(taken.data_bytes, 4000);
}

TEST(StepFigures, a_ring_sends_half_as_many_messages_for_half_an_all_reduce) {
  StepFigures figures([] { return 0.0; });
  comm::CollectiveRecord collective{.group = "data", .ranks = 4};
  figures.on_collective(collective);
  for (const auto kind : {comm::CollectiveKind::reduce_scatter, comm::CollectiveKind::all_gather}) {
    collective.kind = kind;
    figures.on_collective(collective);
  }
  EXPECT_EQ(figures.take().data_messages, 6 + 3 + 3);
}

TEST(StepFigures, each_iteration_begins_from_nothing) {
  StepFigures figures([] { return 0.0; });
  figures.on_pass(pass(0, 4));
  figures.on_collective(collective("tensor", 3, 4));
  figures.on_collective(collective("data", 4, 5));
  figures.take();
  EXPECT_EQ(figures.take(), RankFigures{});
  figures.on_pass(pass(5, 6));
  figures.clear();
  EXPECT_EQ(figures.take(), RankFigures{});
}

}  // namespace
}  // namespace tenax::resilience
