#include "resilience/effective_time/interval_cut.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::resilience {
namespace {

using Cause = LostCause;
using Kind = IntervalMark::Kind;

constexpr UndisturbedStep kWork{.usual_s = 10, .useful_s = 10};

StepInterval step_of(double seconds) { return {.begin_s = 100, .end_s = 100 + seconds, .has_commit = true}; }

IntervalMark loss_at(double time_s, double detect_s) {
  return {.time_s = 100 + time_s, .detect_s = detect_s};
}

IntervalMark epoch_at(double time_s, EpochReason reason) {
  return {.time_s = 100 + time_s, .kind = Kind::epoch, .reason = reason};
}

TimeByCause of(const StepInterval& interval, const UndisturbedStep& work = kWork) {
  const std::vector<TimeSpan> spans = cut(interval, work);
  double at_s = interval.begin_s;
  for (const TimeSpan& span : spans) {
    EXPECT_DOUBLE_EQ(span.begin_s, at_s);
    at_s = span.end_s;
  }
  EXPECT_DOUBLE_EQ(at_s, interval.end_s);
  return TimeByCause(spans);
}

TEST(IntervalCut, of_a_step_within_a_tenth_of_the_usual_is_useful) {
  EXPECT_DOUBLE_EQ(of(step_of(10.9)).useful_s(), 10.9);
  EXPECT_DOUBLE_EQ(of(step_of(8)).useful_s(), 8);
}

TEST(IntervalCut, gives_to_slow_what_a_longer_step_takes_beyond_the_usual) {
  const TimeByCause time = of(step_of(15));
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::slow), 5);
}

TEST(IntervalCut, names_what_made_a_step_longer) {
  StepInterval saving = step_of(12), joining = step_of(12);
  saving.saves = true;
  joining.has_newcomers = true;
  joining.evaluation_s = 1.5;
  EXPECT_DOUBLE_EQ(of(saving).lost_s(Cause::checkpoint), 2);
  EXPECT_DOUBLE_EQ(of(joining).lost_s(Cause::evaluation), 1.5);
  EXPECT_DOUBLE_EQ(of(joining).lost_s(Cause::first_step), 0.5);
}

TEST(IntervalCut, parts_state_from_waiting_for_it) {
  StepInterval interval = step_of(13);
  interval.is_behind = true;
  interval.held_s = 2;
  const TimeByCause time = of(interval);
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::state), 1);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::join_wait), 2);
}

TEST(IntervalCut, counts_for_no_longer_than_all_replicas_would_take) {
  const TimeByCause time = of(step_of(20), {.usual_s = 20, .useful_s = 15});
  EXPECT_DOUBLE_EQ(time.useful_s(), 15);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::absent), 5);
}

// Passes until 10, told at 60, decided at 63.
TEST(IntervalCut, cuts_the_stall_of_a_loss_where_it_was_told_and_where_the_epoch_was_decided) {
  StepInterval interval = step_of(83);
  interval.marks = {loss_at(60, 58), epoch_at(63, EpochReason::lost)};
  interval.is_kept = true;
  const TimeByCause time = of(interval);
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::detect), 50);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::reconfigure), 3);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::repeat), 20);
}

TEST(IntervalCut, charges_no_detection_that_passes_have_hidden) {
  StepInterval interval = step_of(14);
  interval.marks = {loss_at(4, 1), epoch_at(5, EpochReason::lost)};
  interval.is_kept = true;
  const TimeByCause time = of(interval);
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::repeat), 4);
}

TEST(IntervalCut, of_a_loss_during_a_change_tells_both_losses_apart_from_it) {
  StepInterval interval = step_of(30);
  interval.marks = {loss_at(12, 1), epoch_at(13, EpochReason::lost), loss_at(20, 2),
                    epoch_at(21, EpochReason::lost)};
  interval.is_kept = true;
  const TimeByCause time = of(interval);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::detect), 2 + 2);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::reconfigure), 2);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::repeat), 5 + 9);
}

TEST(IntervalCut, of_a_join_begins_the_step_with_the_epoch) {
  StepInterval interval = step_of(13);
  interval.marks = {epoch_at(0.5, EpochReason::join)};
  interval.is_behind = true;
  interval.held_s = 2;
  const TimeByCause time = of(interval);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::reconfigure), 0.5);
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::state), 0.5);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::join_wait), 2);
}

TEST(IntervalCut, of_the_loss_of_all_throws_the_begun_step_away) {
  StepInterval interval = step_of(80);
  interval.marks = {loss_at(6, 1), loss_at(7, 1), epoch_at(60, EpochReason::start)};
  interval.marks[1].was_last = true;
  const TimeByCause time = of(interval);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::repeat), 5);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::detect), 2);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::none_alive), 53);
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::first_step), 10);
}

TEST(IntervalCut, of_the_end_has_the_last_checkpoint) {
  const StepInterval interval{.begin_s = 100, .end_s = 110, .evaluation_s = 2, .saved_at_s = 109};
  const TimeByCause time = of(interval, {});
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::evaluation), 2);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::checkpoint), 7);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::none_alive), 1);
}

TEST(IntervalCut, gives_to_a_window_what_was_lost_in_it) {
  const std::vector<TimeSpan> spans{{0, 10}, {10, 20, Cause::detect}, {20, 30, Cause::absent}};
  const TimeByCause time(overlay(spans, {.begin_s = 5, .end_s = 25, .lost = Cause::service}));
  EXPECT_DOUBLE_EQ(time.useful_s(), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::service), 10);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::absent), 10);
}

}  // namespace
}  // namespace tenax::resilience
