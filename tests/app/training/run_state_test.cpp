#include "app/training/run_state.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>

#include "app/options.hpp"
#include "app/stop_signals.hpp"
#include "comm/world.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/run/run_files.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/replicas/ledger_store.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/io/deck/deck_fixture.hpp"
#include "tests/resilience/checkpoint/small_disk.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;
using resilience::SmallDisk;

/// Two ranks begin a run in `folder`, of which file systems hold up one, then the other, for longer than comm.deadline_s.
void begin_late(const io::test::TemporaryFolder& folder, std::int64_t steps_done) {
  const std::string deck = folder.write("deck.toml", io::test::kSmallDeck).string();
  folder.write("text.txt", "abc");
  comm::run_ranks(2, 20, [&](comm::World& world) {
    const auto be_late = [&](int late) {
      if (world.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    };
    RunRank rank(world);
    rank.read_deck(deck, {"run.output_dir=" + folder.path().string() + "/run",
                          "parallel.data_parallel_size=2", "comm.deadline_s=0.4"});
    RunState state(rank);
    ASSERT_EQ(state.steps(), steps_done);
    const auto device = kernels::create_cpu_device();
    const parallel::Layout layout = plan_layout(rank.deck(), 1e11, std::size_t{1} << 30);
    const std::vector<comm::Peer> no_peers;
    const parallel::PipelineContext context{
        .options = pipeline_options(rank.deck()), .world = world, .device = *device, .peers = no_peers};
    parallel::GptReplica replica(layout, parallel::ProcessGrid(layout.grid), context, {});
    TrainingData data(rank);
    be_late(1);
    state.load(replica, data);
    be_late(0);
    state.check_disk();
    be_late(0);
    state.open_directory();
  });
  EXPECT_TRUE(fs::exists(folder.path() / "run/deck.toml"));
}

// The disk has room for the first checkpoint once more, but for what the killed run has left of it.
TEST(RunState, takes_what_a_killed_run_left_half_written_for_free_room) {
  constexpr std::int64_t kCheckpointBytes = 12 * 218496;  // of the small deck: weights and two moments
  const io::test::TemporaryFolder folder;
  const fs::path checkpoints = folder.path() / "checkpoints";
  const SmallDisk disk(checkpoints, kCheckpointBytes * 3 / 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  const auto half =
      folder.write("checkpoints/.step-000007.h5.tmp-other-1", std::string(kCheckpointBytes, 'x'));
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run",
                  "checkpoint.dir=" + checkpoints.string(), "checkpoint.keep=1"});
  const RunState state(rank);
  EXPECT_TRUE(fs::exists(half));
  EXPECT_NO_THROW(state.check_disk());
  EXPECT_FALSE(fs::exists(half));
}

TEST(RunState, is_stopped_by_a_signal_while_it_looks_at_locks_of_other_hosts) {
  StopSignals signals;  // first: threads started later inherit the blocked signals
  const io::test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "run");
  const std::string owner =
      R"({"host": "there", "pid": 1, "pid_start": 2, "job": "", "restart": 0, "time": 1.5, "beats": true})";
  const fs::path lock = folder.write("run/.lock", owner);
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run"});
  kill(getpid(), SIGUSR1);
  EXPECT_TRUE(RunState(rank).is_stopped());
  EXPECT_TRUE(signals.requested());
  EXPECT_TRUE(fs::exists(lock));
  EXPECT_EQ(std::distance(fs::directory_iterator(lock.parent_path()), {}), 1) << "it has touched something";
  StopSignals::release();
}

TEST(RunState, is_stopped_by_a_signal_while_it_verifies_a_checkpoint) {
  StopSignals signals;  // first: threads started later inherit the blocked signals
  const io::test::TemporaryFolder folder;
  const fs::path checkpoints = folder.path() / "run/checkpoints";
  fs::create_directories(checkpoints);
  const io::WholeState whole(io::kTinyModel);
  io::CheckpointInfo info;
  info.model = io::kTinyModel;
  io::write_checkpoint(checkpoints / "step-000007.h5", info, whole.ranges);
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run"});
  kill(getpid(), SIGUSR1);
  EXPECT_TRUE(RunState(rank).is_stopped());
  EXPECT_TRUE(signals.requested());
  EXPECT_TRUE(fs::exists(checkpoints / "step-000007.h5"));
  EXPECT_EQ(std::distance(fs::directory_iterator(checkpoints.parent_path()), {}), 1)
      << "it has touched something";
  StopSignals::release();
}

TEST(RunState, keeps_the_metrics_of_a_run_whose_checkpoints_are_gone_before_it_begins_anew) {
  const io::test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "run");
  folder.write("run/events.jsonl", "{\"event\": \"checkpoint\", \"step\": 7}\n");
  folder.write("run/metrics.jsonl", "what was learnt");
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run"});
  RunState state(rank);
  state.open_directory();
  EXPECT_EQ(folder.read("run/metrics.jsonl.1"), "what was learnt");
  EXPECT_FALSE(fs::exists(folder.path() / "run/metrics.jsonl"));
}

// Memory of hundreds of GB takes long to go, and the lock goes after it.
TEST(RunState, of_a_replica_waits_for_the_one_before_that_is_still_ending) {
  const io::test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "run");
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run"});
  auto before = std::make_unique<io::DirectoryLock>(folder.path() / "run");
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    before.reset();
  });
  EXPECT_NO_THROW(RunState::of_replica(rank));
  ending.join();
}

/// What a run of 16 sequences a step adds to a step's first sample after a checkpoint of 7 steps with that attribute.
std::int64_t offset_after(const std::string& checkpoint_deck, std::optional<std::int64_t> next_sample) {
  const io::test::TemporaryFolder folder;
  io::CheckpointInfo info;
  info.step = 7;
  info.next_sample = next_sample;
  info.deck = checkpoint_deck;
  info.model = io::test::deck_of(io::test::kSmallDeck).model;
  const io::WholeState whole(info.model);
  fs::create_directories(folder.path() / "run/checkpoints");
  io::write_checkpoint(folder.path() / "run/checkpoints/step-000007.h5", info, whole.ranges);
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run", "batch.global_batch_size=16"});
  return RunState(rank).sample_offset();
}

TEST(RunState, goes_on_with_the_first_sample_that_no_step_has_had_whatever_its_batch) {
  const auto deck_of_batch = [](const std::string& size) {
    return io::to_toml(io::test::deck_of(io::test::kSmallDeck, {"batch.global_batch_size=" + size}));
  };
  EXPECT_EQ(offset_after(deck_of_batch("8"), 7 * 8), 7 * 8 - 7 * 16);
  EXPECT_EQ(offset_after(deck_of_batch("8"), {}), 7 * 8 - 7 * 16);
  EXPECT_EQ(offset_after(deck_of_batch("32"), 7 * 32), 7 * 32 - 7 * 16);
  EXPECT_EQ(offset_after(deck_of_batch("16"), 7 * 16), 0);
  EXPECT_EQ(offset_after(deck_of_batch("16"), 100), 100 - 7 * 16) << "of replicas that shrank";
  EXPECT_EQ(offset_after("of another version", 7 * 8), 7 * 8 - 7 * 16);
  EXPECT_EQ(offset_after("of another version", {}), 0);
}

using DeckReading = void (RunRank::*)(const std::string&, const std::vector<std::string>&);

/// Both of a run that begins, by a deck that `read` reads.
std::pair<std::string, int> refusal(DeckReading read, const std::string& deck,
                                    const std::vector<std::string>& overrides) {
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  EXPECT_NO_THROW((rank.*read)(deck, overrides)) << "a run that lives may be taken over";
  return io::test::error_of([&] { const RunState state(rank); });
}

TEST(RunState, refuses_to_begin_where_the_deck_would_be_moved_away_with_an_old_run) {
  const io::test::TemporaryFolder folder;
  const std::string deck = folder.write("mine.toml", io::test::kSmallDeck).string();
  folder.write("events.jsonl", "{}\n");
  fs::create_directory(folder.path() / "checkpoints");
  const std::vector<std::string> overrides = {"run.output_dir=" + folder.path().string(), "run.resume=never"};
  for (const DeckReading read : {&RunRank::read_deck, &RunRank::read_deck_of_replicas}) {
    const auto [message, status] = refusal(read, deck, overrides);
    EXPECT_NE(message.find("what no run wrote: the deck, " + deck), std::string::npos) << message;
    EXPECT_EQ(status, 1);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3) << "something has changed";
}

/// As a run in `folder`/RUN has it.
std::string write_run(const io::test::TemporaryFolder& folder, const std::string& run,
                      const std::string& checkpoints) {
  const std::string directory = (folder.path() / run).string();
  fs::create_directories(directory);
  const io::Deck deck = io::test::deck_of(
      io::test::kSmallDeck,
      {"run.output_dir=" + directory, "checkpoint.dir=" + (folder.path() / checkpoints).string()});
  io::write_resolved_deck(deck);
  folder.write(run + "/events.jsonl", "");
  return io::to_toml(deck);
}

/// How a run in `folder`/mine begins with that checkpoint.dir: what it refuses, and warns of.
std::string refusal_and_warnings(const io::test::TemporaryFolder& folder, const std::string& checkpoints,
                                 const std::vector<std::string>& more = {}) {
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  std::vector<std::string> overrides = {"run.output_dir=" + folder.path().string() + "/mine",
                                        "checkpoint.dir=" + (folder.path() / checkpoints).string()};
  overrides.insert(overrides.end(), more.begin(), more.end());
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck), overrides);
  testing::internal::CaptureStderr();
  std::string refusal;
  try {
    const RunState state(rank);
  } catch (const kernels::Error& error) {
    refusal = error.what();
  }
  return refusal + testing::internal::GetCapturedStderr();
}

TEST(RunState, takes_over_no_checkpoints_that_another_run_directory_says_to_be_its_own) {
  const io::test::TemporaryFolder folder;
  io::CheckpointInfo info;
  info.step = 7;
  info.model = io::test::deck_of(io::test::kSmallDeck).model;
  const io::WholeState whole(info.model);
  const auto write = [&](const std::string& checkpoints, const std::string& deck) {
    info.deck = deck;
    fs::create_directories(folder.path() / checkpoints);
    io::write_checkpoint(folder.path() / checkpoints / "step-000007.h5", info, whole.ranges);
  };
  const std::string shared = write_run(folder, "sharing", "shared");
  write("shared", shared);
  write("other/checkpoints", write_run(folder, "other", "other/checkpoints"));
  write("mine/checkpoints", shared);
  for (const auto& [checkpoints, owner] :
       {std::pair("shared", "/sharing,"), std::pair("other/checkpoints", "/other,")}) {
    const std::string text = refusal_and_warnings(folder, checkpoints);
    EXPECT_NE(text.find(std::string(owner) + " by its deck.toml"), std::string::npos) << text;
    EXPECT_NE(text.find("another checkpoint.dir"), std::string::npos) << text;
  }
  EXPECT_EQ(refusal_and_warnings(folder, "mine/checkpoints"), "") << "a copied run";
  fs::remove_all(folder.path() / "sharing");
  const std::string warning = refusal_and_warnings(folder, "shared");
  EXPECT_NE(warning.find("/shared are of a run in " + folder.path().string() + "/sharing"), std::string::npos)
      << warning;
  write("shared", write_run(folder, "mine", "shared"));
  EXPECT_EQ(refusal_and_warnings(folder, "shared"), "");
}

void write_small_checkpoint(const fs::path& file) {
  io::CheckpointInfo info;
  info.step = 7;
  info.model = io::test::deck_of(io::test::kSmallDeck).model;
  const io::WholeState whole(info.model);
  fs::create_directories(file.parent_path());
  io::write_checkpoint(file, info, whole.ranges);
}

TEST(RunState, changes_nothing_in_the_directory_of_another_run) {
  const io::test::TemporaryFolder folder;
  write_run(folder, "other", "other/checkpoints");
  const fs::path pending = folder.path() / "other/checkpoints/step-000007.h5.replica-0.1";
  fs::create_directories(folder.path() / "mine");
  resilience::LedgerStore(folder.path() / "mine")
      .append({resilience::EpochRecord{.epoch = 1, .members = {{{0, 1}, "a"}}}});
  write_small_checkpoint(pending);
  ASSERT_EQ(resilience::list_pending_checkpoints(pending.parent_path()).size(), 1U);
  for (const char* interval : {"checkpoint.interval=0", "checkpoint.interval=-1"}) {
    refusal_and_warnings(folder, "other/checkpoints", {interval});
    EXPECT_TRUE(fs::exists(pending)) << interval;
  }
}

// A run begun by another one's deck.toml, when checkpoint.dir did not follow run.output_dir.
TEST(RunState, names_its_checkpoints_where_its_own_deck_has_them_and_goes_on_with_them_then) {
  const io::test::TemporaryFolder folder;
  const std::string there = (folder.path() / "other/checkpoints").string();
  write_run(folder, "other", "other/checkpoints");
  write_run(folder, "mine", "other/checkpoints");
  write_small_checkpoint(there + "/step-000007.h5");
  const std::string refusal = refusal_and_warnings(folder, "mine/checkpoints");
  EXPECT_NE(refusal.find("checkpoint.dir=" + there + " goes on with them"), std::string::npos) << refusal;
  EXPECT_EQ(refusal_and_warnings(folder, "other/checkpoints"), "");
  EXPECT_EQ(refusal_and_warnings(folder, "mine/checkpoints", {"run.resume=never"}), "");
  const std::string anew = refusal_and_warnings(folder, "other/checkpoints", {"run.resume=never"});
  EXPECT_NE(anew.find("choose another checkpoint.dir"), std::string::npos) << anew;
  folder.write("mine/deck.toml", std::regex_replace(folder.read("mine/deck.toml"),
                                                    std::regex("\ninterval = .*"), "\ninterval = -1"));
  EXPECT_EQ(refusal_and_warnings(folder, "mine/checkpoints"), "") << "none of them is its own";
}

TEST(RunState, goes_on_from_another_runs_checkpoints_where_it_writes_and_removes_none) {
  const io::test::TemporaryFolder folder;
  write_run(folder, "other", "other/checkpoints");
  write_small_checkpoint(folder.path() / "other/checkpoints/step-000007.h5");
  const auto told = [&](const std::string& resume) {
    return refusal_and_warnings(folder, "other/checkpoints", {"checkpoint.interval=-1", resume});
  };
  const std::string warning = told("run.resume=auto"), refusal = told("run.resume=never");
  EXPECT_NE(warning.find("this run writes none there and removes none"), std::string::npos) << warning;
  EXPECT_NE(refusal.find("choose another checkpoint.dir"), std::string::npos) << "it would set them aside";
}

// As where the files are on a file server that starts again.
TEST(RunState, bears_ranks_that_files_hold_up_at_the_begin_of_a_run) {
  const io::test::TemporaryFolder folder;
  begin_late(folder, 0);
}

TEST(RunState, bears_ranks_that_files_hold_up_at_a_resume) {
  const io::test::TemporaryFolder folder;
  io::CheckpointInfo info;
  info.step = 7;
  info.model = io::test::deck_of(io::test::kSmallDeck).model;
  const io::WholeState whole(info.model);
  fs::create_directories(folder.path() / "run/checkpoints");
  io::write_checkpoint(folder.path() / "run/checkpoints/step-000007.h5", info, whole.ranges);
  begin_late(folder, 7);
}

}  // namespace
}  // namespace tenax::app
