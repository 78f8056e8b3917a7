#include "io/run/launch_events.hpp"

#include "tests/io/run/ledger_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(LaunchEvents, have_their_numbers_whatever_else_stands_in_the_file) {
  const TemporaryFolder folder;
  EventsWriter(folder.path(), [] { return 12.5; })
      .write(
          {.step = 3,
           .name = "replica_lost",
           .replica = 1,
           .rank = {},
           .host = "a",
           .details = JsonObject{}.add("incarnation", 2).add("reason", "exit").add("detect_seconds", 0.25)});
  const std::string line = folder.read("events.jsonl");
  folder.write("events.jsonl",
               line + "{\"event\": \"odd\", \"step\": \"x\", \"replica\": 1e300}\n[1]\n{\"time\": 3");
  const std::vector<LaunchEvent> events = read_launch_events(folder.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].time_s, 12.5);
  EXPECT_EQ(events[0].step, 3);
  EXPECT_EQ(events[0].event, "replica_lost");
  EXPECT_EQ(events[0].reason, "exit");
  EXPECT_EQ(events[0].replica, 1);
  EXPECT_EQ(events[0].incarnation, 2);
  EXPECT_EQ(events[0].number("detect_seconds"), 0.25);
  EXPECT_EQ(events[0].number("absent"), 0);
  EXPECT_EQ(events[1].step, 0);
  EXPECT_EQ(events[1].replica, -1);
}

TEST(LaunchEvents, are_none_in_a_folder_without_a_file) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_launch_events(folder.path()).empty());
}

}  // namespace
}  // namespace tenax::io::test
