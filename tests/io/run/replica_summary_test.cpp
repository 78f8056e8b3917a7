#include "io/run/replica_summary.hpp"

#include "tests/io/run/ledger_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(ReplicaSummary, tells_the_members_and_what_became_of_each_replica) {
  const TemporaryFolder folder;
  LedgerWriter ledger(folder.path());
  for (const LedgerRecord& record : eventful_run()) ledger.append(record);
  folder.write(
      "events.jsonl",
      "{\"step\": 0, \"event\": \"replica_start\", \"replica\": 0, \"incarnation\": 1, \"hosts\": [\"a\"]}\n"
      "{\"step\": 2, \"event\": \"replica_lost\", \"replica\": 1, \"reason\": \"silent\"}\n"
      "{\"step\": 2, \"event\": \"replica_start\", \"replica\": 1, \"incarnation\": 2, \"hosts\": [\"b\"]}\n"
      "{\"step\": 3, \"event\": \"replica_join\", \"replica\": 1, \"incarnation\": 2}\n"
      "{\"step\": 5, \"event\": \"replica_lost\", \"replica\": 1, \"reason\": \"exit\"}\n"
      "{\"step\": 5, \"event\": \"replica_lost\", \"replica\": 1, \"reason\": \"given_up\"}\n"
      "{\"step\": 5, \"event\": \"replica_start\", \"replica\": \"odd\"}\n");
  EXPECT_EQ(summarise_replicas(folder.path()),
            "  members             1, 0, since epoch 4 began with step 3\n"
            "  replica 0           incarnation 1 on a\n"
            "  replica 1           incarnation 2 on b; lost 2 times, last after 5 steps (exit); joined once, "
            "after 3 steps; given up\n");
}

TEST(ReplicaSummary, says_nothing_of_a_run_without_replicas) {
  const TemporaryFolder folder;
  folder.write("events.jsonl", "{\"step\": 0, \"event\": \"start\"}\n");
  EXPECT_EQ(summarise_replicas(folder.path()), "");
}

}  // namespace
}  // namespace tenax::io::test
