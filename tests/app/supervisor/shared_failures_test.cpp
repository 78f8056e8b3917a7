#include "app/supervisor/shared_failures.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

SupervisedReplica::End told(const std::string& reason, bool is_own = true) {
  return {.incarnation = 1,
          .outcome = Outcome{.incarnation = 1, .status = 1, .reason = reason, .is_own = is_own},
          .reason = reason};
}

SupervisedReplica::End untold(const std::string& last_line) {
  return {.incarnation = 1, .outcome = {}, .reason = last_line};
}

TEST(SharedFailures, end_the_run_once_all_have_failed_alike) {
  SharedFailures failures(2);
  failures.on_failure(0, told("no such file"));
  failures.on_failure(0, told("no such file"));
  EXPECT_FALSE(failures.shared_reason());
  failures.on_failure(1, told("no such file"));
  EXPECT_EQ(failures.shared_reason(), "no such file");
}

TEST(SharedFailures, may_be_tried_again_where_reasons_differ) {
  SharedFailures failures(2);
  failures.on_failure(0, told("no such file"));
  failures.on_failure(1, untold("ssh: no route to host"));
  EXPECT_FALSE(failures.shared_reason());
  failures.on_failure(0, untold("killed"));
  EXPECT_FALSE(failures.shared_reason()) << "the first failures count no more";
}

TEST(SharedFailures, say_that_nothing_could_be_started) {
  SharedFailures failures(1);
  failures.on_failure(0, untold("mpirun: command not found"));
  EXPECT_EQ(failures.shared_reason(), "no replica could be started: mpirun: command not found");
}

void fail(SharedFailures& failures, int replica, const SupervisedReplica::End& end, int times) {
  for (int time = 0; time < times; ++time) failures.on_failure(replica, end);
}

TEST(SharedFailures, before_the_run_begins_are_compared_with_those_of_replicas_that_are_given_up) {
  SharedFailures failures(2);
  failures.on_failure(1, untold("ssh: no route to host"));
  failures.on_given_up(1);
  EXPECT_FALSE(failures.shared_reason());
  for (int time = 0; time < 2; ++time) {
    failures.on_failure(0, untold("killed"));
    EXPECT_FALSE(failures.shared_reason());
  }
  failures.on_failure(0, untold("ssh: no route to host"));
  EXPECT_EQ(failures.shared_reason(), "no replica could be started: ssh: no route to host");
}

TEST(SharedFailures, end_a_run_that_has_begun_once_each_has_failed_twice_in_a_row) {
  SharedFailures failures(2);
  failures.on_failure(0, told("no such file"));
  failures.on_begun();
  fail(failures, 1, told("no such file"), 2);
  EXPECT_FALSE(failures.shared_reason()) << "replica 0 has trained meanwhile";
  failures.on_failure(0, told("no such file"));
  EXPECT_FALSE(failures.shared_reason()) << "it may pass";
  failures.on_failure(0, told("no such file"));
  EXPECT_EQ(failures.shared_reason(), "no such file");
}

TEST(SharedFailures, of_one_replica_end_no_run_that_has_begun_the_first_time) {
  SharedFailures failures(1);
  failures.on_begun();
  failures.on_failure(0, told("CUDA failed on this rank's GPU"));
  EXPECT_FALSE(failures.shared_reason());
  failures.on_failure(0, told("no such file"));
  EXPECT_FALSE(failures.shared_reason()) << "another reason";
  failures.on_failure(0, told("no such file"));
  EXPECT_EQ(failures.shared_reason(), "no such file");
}

TEST(SharedFailures, end_a_run_that_has_begun_for_a_reason_of_the_ranks_own_alone) {
  SharedFailures failures(2);
  failures.on_begun();
  for (const auto& end : {told("the service is silent", false), untold("killed")}) {
    for (const int replica : {0, 1}) fail(failures, replica, end, 2);
    EXPECT_FALSE(failures.shared_reason());
  }
}

TEST(SharedFailures, are_no_reason_once_a_step_was_completed_since) {
  SharedFailures failures(2);
  failures.on_begun();
  fail(failures, 0, told("no such file"), 2);
  failures.on_commit();
  fail(failures, 1, told("no such file"), 2);
  EXPECT_FALSE(failures.shared_reason());
  failures.on_failure(0, told("no such file"));
  EXPECT_FALSE(failures.shared_reason()) << "the count begins anew";
}

TEST(SharedFailures, once_the_run_has_begun_are_those_of_the_replicas_that_are_not_given_up) {
  SharedFailures failures(2);
  failures.on_begun();
  fail(failures, 0, told("a lock is held"), 2);
  failures.on_given_up(0);
  EXPECT_FALSE(failures.shared_reason());
  fail(failures, 1, told("no such file"), 2);
  EXPECT_EQ(failures.shared_reason(), "no such file");
}

}  // namespace
}  // namespace tenax::app
