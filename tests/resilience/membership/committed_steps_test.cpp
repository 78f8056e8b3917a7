#include "resilience/membership/committed_steps.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

EpochRecord epoch(std::int64_t number, std::int64_t from_step,
                  std::vector<ReplicaId> ids = {{0, 1}, {1, 1}}) {
  EpochRecord record{.epoch = number, .from_step = from_step};
  for (const ReplicaId& id : ids) record.members.push_back({id, "host"});
  return record;
}

CommitRecord commit(std::int64_t step, std::int64_t epoch, std::int64_t first) {
  return {.step = step, .epoch = epoch, .first_sample = first, .parts = {{0, first, 4}, {1, first + 4, 4}}};
}

CommittedSteps after(const std::vector<Record>& records) {
  CommittedSteps steps;
  for (const Record& record : records) steps.add(record);
  return steps;
}

TEST(CommittedSteps, counts_steps_and_samples) {
  const CommittedSteps steps = after({epoch(1, 0), commit(0, 1, 0), commit(1, 1, 8)});
  EXPECT_EQ(steps.done(), 2);
  EXPECT_EQ(steps.samples_after(2), 16);
  EXPECT_EQ(steps.samples_after(1), 8);
  EXPECT_EQ(steps.samples_after(3), std::nullopt);
  EXPECT_EQ(steps.epoch()->epoch, 1);
}

TEST(CommittedSteps, begins_where_the_first_epoch_does) {
  const CommittedSteps steps = after({epoch(1, 1000), commit(1000, 1, 5000)});
  EXPECT_EQ(steps.done(), 1001);
  EXPECT_EQ(steps.samples_after(1001), 5008);
}

TEST(CommittedSteps, goes_back_to_where_steps_became_void) {
  CommittedSteps steps = after({epoch(1, 0), commit(0, 1, 0), commit(1, 1, 8), VoidRecord{0, 1, 1}});
  EXPECT_EQ(steps.done(), 1);
  EXPECT_EQ(steps.samples_after(1), 8);
  steps.add(epoch(2, 1, {{0, 2}, {1, 1}}));
  EXPECT_EQ(steps.fault(commit(1, 2, 8)), "");
  EXPECT_NE(steps.fault(commit(1, 2, 16)), "");
}

TEST(CommittedSteps, knows_the_newest_incarnations_that_were_members) {
  const CommittedSteps steps = after({epoch(1, 0), epoch(2, 0, {{0, 1}}), epoch(3, 0, {{0, 1}, {1, 4}})});
  EXPECT_EQ(steps.newest_members(), (std::vector<ReplicaId>{{0, 1}, {1, 4}}));
}

TEST(CommittedSteps, finds_fault_with_a_commit_out_of_order_of_another_epoch_or_of_others) {
  const CommittedSteps steps = after({epoch(1, 0), commit(0, 1, 0)});
  EXPECT_EQ(steps.fault(commit(1, 1, 8)), "");
  EXPECT_NE(steps.fault(commit(2, 1, 16)), "");
  EXPECT_NE(steps.fault(commit(0, 1, 0)), "");
  EXPECT_NE(steps.fault(commit(1, 2, 8)), "");
  EXPECT_NE(steps.fault(commit(1, 1, 9)), "");
  CommitRecord stranger = commit(1, 1, 8);
  stranger.parts[1].replica = 2;
  EXPECT_NE(steps.fault(stranger), "");
}

TEST(CommittedSteps, refuses_records_that_contradict_themselves) {
  for (const std::vector<Record>& records : {std::vector<Record>{commit(0, 1, 0)},
                                             {epoch(2, 0)},
                                             {epoch(1, 0), epoch(3, 0)},
                                             {epoch(1, 0), epoch(2, 1)},
                                             {epoch(1, 0), commit(1, 1, 8)}}) {
    EXPECT_THROW(after(records), kernels::Error);
  }
}

}  // namespace
}  // namespace tenax::resilience
