#include "io/run/run_summary.hpp"

#include "io/text.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(RunSummary, counts_what_became_slow_and_healed) {
  const TemporaryFolder folder;
  folder.write("events.jsonl",
               R"({"time": 1, "event": "start"}
{"time": 2, "event": "onset", "iteration": 40}
{"time": 3, "event": "validation", "seconds": 0.5}
{"time": 4, "event": "fail_slow", "components": []}
{"time": 5, "event": "relief", "iteration": 90}
{"time": 6, "event": "healed", "rank": 1}
{"time": 7, "event": "healed", "rank": 2}
{"time": 7, "event": "mitigate", "strategy": "ring"}
{"time": 7, "event": "revert", "reason": "healed"}
{"time": 8, "event": "hea)");
  const std::string text = summarise_run(folder.path());
  for (const char* once : {"onset", "validation", "fail_slow", "relief", "mitigate", "revert"})
    EXPECT_TRUE(holds(text, listed(once, "1 time"))) << once << " in " << text;
  EXPECT_TRUE(holds(text, listed("healed", "2 times"))) << text;
}

// As a supervisor and its replicas leave them: what a replica found is in its own file and in the run's.
TEST(RunSummary, counts_once_what_the_supervisor_has_from_a_replica_and_what_replicas_alone_have) {
  const TemporaryFolder folder;
  folder.write("events.jsonl",
               "{\"time\": 1, \"event\": \"launch\"}\n{\"time\": 2, \"event\": \"wait\"}\n"
               "{\"time\": 3, \"event\": \"onset\", \"replica\": 0}\n{\"time\": 3, \"event\": \"skip\"}\n"
               "{\"time\": 3, \"event\": \"onset\", \"replica\": 1}\n");
  for (const char* replica : {"replica-0", "replica-1"}) {
    std::filesystem::create_directory(folder.path() / replica);
    folder.write(replica + std::string("/events.jsonl"),
                 "{\"time\": 3, \"event\": \"onset\"}\n{\"time\": 4, \"event\": \"wait\"}\n"
                 "{\"time\": 4, \"event\": \"skip\"}\n{\"time\": 4, \"event\": \"straggler\"}\n");
  }
  const std::string text = summarise_run(folder.path());
  for (const char* twice : {"onset", "straggler"})
    EXPECT_TRUE(holds(text, listed(twice, "2 times"))) << twice << " in " << text;
  EXPECT_TRUE(holds(text, listed("skip", "1 time"))) << text;
  EXPECT_TRUE(holds(text, listed("wait", "1 time"))) << text;
}

// A run directory that was moved or copied has its own, though the deck names those of the run that is there now.
TEST(RunSummary, finds_the_checkpoints_of_a_run_that_was_moved) {
  const TemporaryFolder folder;
  const auto resolved = [&](const std::string& checkpoints) {
    return to_toml(read_deck(folder.write("d.toml", kSmallDeck),
                             {"run.output_dir=" + (folder.path() / "x").string(),
                              "checkpoint.dir=" + (folder.path() / checkpoints).string()}));
  };
  for (const char* name : {"x/checkpoints", "x.1/checkpoints", "elsewhere"})
    std::filesystem::create_directories(folder.path() / name);
  folder.write("x.1/deck.toml", resolved("x/checkpoints"));
  EXPECT_EQ(checkpoint_directory_of_run(folder.path() / "x.1"), folder.path() / "x.1/checkpoints");
  folder.write("x.1/deck.toml", resolved("elsewhere"));
  EXPECT_EQ(checkpoint_directory_of_run(folder.path() / "x.1"), folder.path() / "elsewhere");
}

TEST(RunSummary, says_nothing_of_what_did_not_happen) {
  const TemporaryFolder folder;
  folder.write("events.jsonl", "{\"time\": 1, \"event\": \"start\"}\n");
  const std::string text = summarise_run(folder.path());
  EXPECT_FALSE(holds(text, "onset")) << text;
  EXPECT_FALSE(holds(text, "times")) << text;
}

}  // namespace
}  // namespace tenax::io::test
