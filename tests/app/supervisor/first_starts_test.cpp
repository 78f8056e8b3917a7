#include "app/supervisor/first_starts.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

SupervisedReplica::End told(const std::string& reason) {
  return {.incarnation = 1,
          .outcome = Outcome{.incarnation = 1, .status = 1, .reason = reason},
          .reason = reason};
}

SupervisedReplica::End untold(const std::string& last_line) {
  return {.incarnation = 1, .outcome = {}, .reason = last_line};
}

TEST(FirstStarts, end_the_run_once_all_have_failed_alike) {
  FirstStarts starts(2);
  starts.on_failure(0, told("no such file"));
  starts.on_failure(0, told("no such file"));
  EXPECT_FALSE(starts.shared_reason());
  starts.on_failure(1, told("no such file"));
  EXPECT_EQ(starts.shared_reason(), "no such file");
}

TEST(FirstStarts, may_be_tried_again_where_reasons_differ) {
  FirstStarts starts(2);
  starts.on_failure(0, told("no such file"));
  starts.on_failure(1, untold("ssh: no route to host"));
  EXPECT_FALSE(starts.shared_reason());
  starts.on_failure(0, untold("killed"));
  EXPECT_FALSE(starts.shared_reason()) << "the first failures count no more";
}

TEST(FirstStarts, say_that_nothing_could_be_started) {
  FirstStarts starts(1);
  starts.on_failure(0, untold("mpirun: command not found"));
  EXPECT_EQ(starts.shared_reason(), "no replica could be started: mpirun: command not found");
}

TEST(FirstStarts, are_over_when_the_run_has_an_epoch) {
  FirstStarts starts(1);
  starts.on_begun();
  starts.on_failure(0, told("no such file"));
  EXPECT_FALSE(starts.shared_reason());
}

}  // namespace
}  // namespace tenax::app
