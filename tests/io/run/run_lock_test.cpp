#include "io/run/run_lock.hpp"

#include "io/run/old_run.hpp"
#include "io/run/run_files.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

namespace fs = std::filesystem;

Deck deck_in(const fs::path& directory, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> all = {"run.output_dir=" + directory.string()};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return read_deck(folder.write("d.toml", kSmallDeck), all);
}

TEST(RunLock, makes_the_directory_with_its_parents_and_leaves_the_resolved_deck_alone_in_it) {
  const TemporaryFolder folder;
  const Deck deck = deck_in(folder.path() / "a/b");
  {
    RunLock lock(deck);
    EXPECT_FALSE(lock.move_old_run(deck));
    write_resolved_deck(deck);
  }
  EXPECT_EQ(folder.read("a/b/deck.toml"), to_toml(deck));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "a/b"), {}), 1);
}

TEST(RunLock, keeps_a_run_that_may_be_resumed) {
  const TemporaryFolder folder;
  folder.write("events.jsonl", "{}\n");
  const Deck deck = deck_in(folder.path());
  EXPECT_FALSE(RunLock(deck).move_old_run(deck));
  EXPECT_EQ(folder.read("events.jsonl"), "{}\n");
}

TEST(RunLock, moves_an_old_run_to_the_first_free_number_when_resume_is_never) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Deck deck = deck_in(run, {"run.resume=never"});
  for (const std::string number : {"1", "2", "3"}) {
    fs::create_directories(run);
    folder.write("run/events.jsonl", number);
    const fs::path moved = run.string() + "." + number;
    RunLock lock(deck);
    EXPECT_EQ(lock.move_old_run(deck), moved);
    EXPECT_EQ(folder.read(moved.filename() / "events.jsonl"), number);
    EXPECT_FALSE(fs::exists(moved / ".lock"));
    EXPECT_TRUE(lock.in_place());
    EXPECT_EQ(error_of([&] { RunLock other(deck); }).second, 1) << "the new directory is not locked";
  }
}

TEST(RunLock, moves_no_run_that_another_process_writes) {
  const TemporaryFolder folder;
  const Deck deck = deck_in(folder.path(), {"run.resume=never"});
  const RunLock first(deck);
  folder.write("events.jsonl", "{}\n");
  EXPECT_EQ(error_of([&] { RunLock(deck).move_old_run(deck); }).second, 1);
  EXPECT_EQ(folder.read("events.jsonl"), "{}\n");
}

TEST(RunLock, leaves_a_directory_without_a_run_where_it_is_when_resume_is_never) {
  const TemporaryFolder folder;
  folder.write("notes.txt", "mine");
  const Deck deck = deck_in(folder.path(), {"run.resume=never"});
  EXPECT_FALSE(RunLock(deck).move_old_run(deck));
  EXPECT_EQ(folder.read("notes.txt"), "mine");
}

TEST(OldRun, is_moved_only_without_what_no_run_wrote) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", deck = folder.path() / "d.toml";
  fs::create_directories(run / "texts");
  folder.write("run/deck.toml", kSmallDeck);
  const auto check = [&](const fs::path& file, const std::string& override_text,
                         FirstWeights weights = FirstWeights::before_the_move) {
    check_old_run_moves_alone(deck_in(run, {override_text, "run.resume=never"}), file, weights);
  };
  EXPECT_NO_THROW(check(deck, "run.seed=1"));
  EXPECT_NO_THROW(check(run / "deck.toml", "run.seed=1")) << "the run wrote it";
  const std::string texts = "=" + (run / "texts/*.txt").string();
  EXPECT_NO_THROW(
      check_old_run_moves_alone(deck_in(run, {"data.train" + texts}), deck, FirstWeights::before_the_move))
      << "nothing is moved";
  const std::vector<std::pair<fs::path, std::string>> all = {{run / "mine.toml", "run.seed=1"},
                                                             {deck, "data.train" + texts},
                                                             {deck, "data.validation" + texts},
                                                             {deck, "data.vocab_dir=" + run.string()}};
  for (const auto& [file, override_text] : all) {
    const auto [message, status] = error_of([&, &file = file, &text = override_text] { check(file, text); });
    EXPECT_EQ(status, 1);
    EXPECT_NE(message.find("what no run wrote: "), std::string::npos) << message;
    EXPECT_NE(message.find("another run.output_dir"), std::string::npos) << message;
  }
  const std::string own_weights = "model.init_weights=" + (run / "checkpoints/step-000007.h5").string();
  EXPECT_NO_THROW(check(deck, own_weights));
  const auto [refusal, status] = error_of([&] { check(deck, own_weights, FirstWeights::after_the_move); });
  EXPECT_NE(refusal.find(": model.init_weights, "), std::string::npos) << refusal;
  EXPECT_EQ(status, 1);
  fs::remove(run / "deck.toml");
  EXPECT_NO_THROW(check(deck, "data.train" + texts)) << "no run is there";
}

TEST(RunLock, covers_checkpoints_wherever_they_go) {
  const TemporaryFolder folder;
  const std::string checkpoints = (folder.path() / "a/checkpoints").string();
  const RunLock first(deck_in(folder.path() / "a"));
  const auto [message, status] =
      error_of([&] { RunLock(deck_in(folder.path() / "b", {"checkpoint.dir=" + checkpoints})); });
  EXPECT_TRUE(message.starts_with(checkpoints + " is in use")) << message;
  EXPECT_EQ(status, 1);
}

TEST(RunLock, is_refused_while_a_replica_of_the_run_lives) {
  const TemporaryFolder folder;
  const DirectoryLock replica(folder.path() / "replica-1");
  const auto [message, status] = error_of([&] { RunLock lock(deck_in(folder.path())); });
  EXPECT_TRUE(message.starts_with((folder.path() / "replica-1").string() + " is in use")) << message;
  EXPECT_EQ(status, 1);
}

TEST(RunLock, of_a_directory_that_cannot_be_made_is_refused_with_reason_and_advice) {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "");
  const auto [message, status] = error_of([&] { RunLock lock(deck_in(file / "run")); });
  EXPECT_EQ(message, "run directory " + (file / "run").string() +
                         ": cannot create: Not a directory; make it writable or choose another with "
                         "run.output_dir");
  EXPECT_EQ(status, 1);
}

TEST(RunLock, of_a_directory_that_takes_no_files_is_refused_with_reason_and_advice) {
  // Not by permissions: root, as whom tests run in containers, may write anywhere but here.
  if (!fs::is_directory("/proc/self")) GTEST_SKIP() << "no /proc here";
  const auto [message, status] = error_of([&] { RunLock lock(deck_in("/proc/self")); });
  EXPECT_TRUE(message.starts_with("run directory /proc/self: cannot write /proc/self/")) << message;
  EXPECT_TRUE(message.ends_with("choose another with run.output_dir")) << message;
  EXPECT_EQ(status, 1);
}

TEST(RunLock, says_which_directory_cannot_be_used_and_by_which_key_it_is_named) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "").string();
  const auto [message, status] =
      error_of([&] { RunLock lock(deck_in(folder.path() / "run", {"checkpoint.dir=" + file})); });
  EXPECT_TRUE(message.starts_with("checkpoint directory " + file + ": cannot ")) << message;
  EXPECT_TRUE(message.ends_with("choose another with checkpoint.dir")) << message;
  EXPECT_EQ(status, 1);
}

TEST(RunLock, of_a_directory_behind_a_link_to_nothing_says_so) {
  const TemporaryFolder folder;
  const fs::path link = folder.path() / "runs";
  fs::create_symlink("/gone/scratch", link);
  for (const fs::path& directory : {link, link / "a"}) {
    const auto [message, status] = error_of([&] { RunLock lock(deck_in(directory)); });
    EXPECT_NE(message.find(link.string() + " is a link to /gone/scratch, which is not there"),
              std::string::npos)
        << message;
    EXPECT_EQ(status, 1);
  }
}

TEST(RunLock, of_a_directory_that_nobody_can_make_says_why) {
  if (!fs::is_directory("/proc/self")) GTEST_SKIP() << "no /proc here";
  const auto [message, status] = error_of([&] { RunLock lock(deck_in("/proc/tenax-is-not-here")); });
  EXPECT_NE(message.find("cannot create: No such file or directory"), std::string::npos) << message;
}

TEST(RunLock, goes_on_without_a_checkpoint_directory_that_cannot_be_made_again) {
  const TemporaryFolder folder;
  const Deck deck = deck_in(folder.path() / "run");
  const fs::path checkpoints = deck.checkpoint.dir;
  RunLock lock(deck);
  EXPECT_FALSE(lock.renew());
  fs::remove_all(checkpoints);
  folder.write("run/checkpoints", "in the way");
  EXPECT_FALSE(lock.in_place());
  EXPECT_TRUE(lock.renew());
  EXPECT_TRUE(lock.in_place());
  fs::remove(checkpoints);
  fs::create_directory(checkpoints);
  EXPECT_FALSE(lock.in_place());
  EXPECT_FALSE(lock.renew());
  EXPECT_TRUE(fs::exists(checkpoints / ".lock"));
}

}  // namespace
}  // namespace tenax::io::test
