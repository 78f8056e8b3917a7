#include "io/run/run_files.hpp"
#include "io/whole_file.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

namespace fs = std::filesystem;

/// While it lives no file grows beyond `bytes`: a full disk for tests.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_before_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_before_ = SIG_DFL;
};

TrainingMetrics step(std::int64_t number) { return {number, 5.5, 1.25, 1e-3, 256, 0.5, 512}; }

TEST(MetricsWriter, writes_the_contracts_members_of_a_training_step) {
  const TemporaryFolder folder;
  MetricsWriter(folder.path(), 0).training({3, 5.545177444479562, 1.25, 0.02, 2048, 0.25, 8192});
  EXPECT_EQ(folder.read("metrics.jsonl"),
            "{\"step\": 3, \"loss\": 5.545177444479562, \"grad_norm\": 1.25, \"lr\": 0.02, \"tokens\": 2048, "
            "\"seconds\": 0.25, \"tokens_per_second\": 8192}\n");
}

TEST(MetricsWriter, writes_how_many_replicas_contributed_where_there_are_some) {
  const TemporaryFolder folder;
  TrainingMetrics metrics = step(0);
  metrics.replicas = 3;
  MetricsWriter(folder.path(), 0).training(metrics);
  EXPECT_TRUE(folder.read("metrics.jsonl").ends_with("\"tokens_per_second\": 512, \"replicas\": 3}\n"));
}

TEST(MetricsWriter, writes_the_iteration_alone_and_whether_its_time_counts) {
  const TemporaryFolder folder;
  TrainingMetrics metrics = step(0);
  metrics.iteration_seconds = 0.4;
  metrics.is_masked = true;
  MetricsWriter(folder.path(), 0).training(metrics);
  EXPECT_TRUE(folder.read("metrics.jsonl")
                  .ends_with("\"tokens_per_second\": 512, \"iteration_seconds\": 0.4, \"masked\": true}\n"));
}

TEST(MetricsWriter, writes_null_for_a_loss_that_is_not_finite) {
  const TemporaryFolder folder;
  MetricsWriter(folder.path(), 0).validation(4, std::nan(""));
  EXPECT_EQ(folder.read("metrics.jsonl"), "{\"step\": 4, \"validation_loss\": null}\n");
}

TEST(MetricsWriter, has_each_line_in_the_file_when_the_call_returns) {
  const TemporaryFolder folder;
  MetricsWriter metrics(folder.path(), 0);
  metrics.training(step(0));
  const auto one = folder.read("metrics.jsonl").size();
  metrics.training(step(1));
  EXPECT_EQ(folder.read("metrics.jsonl").size(), 2 * one);
}

/// "t0 t1 v2 …" for the training and validation lines of metrics.jsonl.
std::string lines_in(const TemporaryFolder& folder) {
  std::istringstream lines(folder.read("metrics.jsonl"));
  std::string summary, line;
  while (std::getline(lines, line)) {
    const auto object = nlohmann::json::parse(line);
    summary += (summary.empty() ? "" : " ") + std::string(object.contains("loss") ? "t" : "v") +
               std::to_string(object["step"].get<int>());
  }
  return summary;
}

class ResumedMetrics : public testing::Test {
 protected:
  void SetUp() override {
    MetricsWriter metrics(folder.path(), 0);
    for (int s = 0; s < 6; ++s) {
      metrics.training(step(s));
      if (s % 2 == 1) metrics.validation(s + 1, 5);
    }
    ASSERT_EQ(lines_in(folder), "t0 t1 v2 t2 t3 v4 t4 t5 v6");
  }
  const TemporaryFolder folder;
};

TEST_F(ResumedMetrics, lose_the_steps_that_run_again) {
  MetricsWriter(folder.path(), 4).training(step(4));
  EXPECT_EQ(lines_in(folder), "t0 t1 v2 t2 t3 v4 t4");
}

TEST_F(ResumedMetrics, keep_every_line_when_no_step_runs_again) {
  const std::string before = folder.read("metrics.jsonl");
  MetricsWriter(folder.path(), 6);
  EXPECT_EQ(folder.read("metrics.jsonl"), before);
}

TEST_F(ResumedMetrics, start_empty_when_the_run_starts_again) {
  MetricsWriter(folder.path(), 0);
  EXPECT_EQ(lines_in(folder), "");
}

TEST_F(ResumedMetrics, lose_a_torn_last_line) {
  std::ofstream(folder.path() / "metrics.jsonl", std::ios::app) << "{\"step\": 6, \"loss\": 5";
  MetricsWriter(folder.path(), 9).training(step(9));
  EXPECT_EQ(lines_in(folder), "t0 t1 v2 t2 t3 v4 t4 t5 v6 t9");
}

TEST_F(ResumedMetrics, lose_a_last_line_that_lacks_only_its_end) {
  std::ofstream(folder.path() / "metrics.jsonl", std::ios::app) << "{\"step\": 6, \"loss\": 5}";
  MetricsWriter(folder.path(), 9).training(step(6));
  EXPECT_EQ(lines_in(folder), "t0 t1 v2 t2 t3 v4 t4 t5 v6 t6");
}

TEST(MetricsWriter, refuses_to_read_a_device_which_may_never_end) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/zero", folder.path() / "metrics.jsonl");
  const auto [message, status] = error_of([&] { MetricsWriter(folder.path(), 3); });
  EXPECT_NE(message.find("metrics.jsonl: it is a pipe, a socket or a device, not a file"), std::string::npos)
      << message;
  EXPECT_EQ(status, 1);
}

TEST(EventsWriter, writes_time_step_event_where_and_details) {
  const TemporaryFolder folder;
  EventsWriter events(folder.path(), [] { return 1795000000.1239; });
  events.write({.step = 7,
                .name = "checkpoint",
                .replica = {},
                .rank = 2,
                .host = "node1",
                .details = JsonObject().add("file", "x.h5")});
  events.write({.step = 8, .name = "end", .replica = 1, .rank = {}, .host = "", .details = {}});
  EXPECT_EQ(
      folder.read("events.jsonl"),
      "{\"time\": 1795000000.124, \"step\": 7, \"event\": \"checkpoint\", \"rank\": 2, \"host\": \"node1\", "
      "\"file\": \"x.h5\"}\n"
      "{\"time\": 1795000000.124, \"step\": 8, \"event\": \"end\", \"replica\": 1}\n");
}

TEST(EventsWriter, appends_when_a_run_resumes) {
  const TemporaryFolder folder;
  folder.write("events.jsonl", "{\"event\": \"start\"}\n{\"event\": \"chec");
  EventsWriter(folder.path(), [] {
    return 2.0;
  }).write({.step = 0, .name = "resume", .replica = {}, .rank = {}, .host = "", .details = {}});
  EXPECT_EQ(folder.read("events.jsonl"),
            "{\"event\": \"start\"}\n{\"time\": 2, \"step\": 0, \"event\": \"resume\"}\n");
}

TEST(LineFile, leaves_no_half_line_when_the_disk_is_full) {
  const TemporaryFolder folder;
  LineFile file(folder.path() / "lines");
  file.append(std::string(99, 'a'));
  {
    const FileSizeLimit limit(150);
    const auto [message, status] = error_of([&] { file.append(std::string(99, 'b')); });
    EXPECT_EQ(message, "cannot write " + (folder.path() / "lines").string() + ": File too large");
    EXPECT_EQ(status, 1);
  }
  file.append("c");
  EXPECT_EQ(folder.read("lines"), std::string(99, 'a') + "\nc\n");
}

TEST(LineFile, names_file_and_reason_when_no_space_is_left) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  LineFile file("/dev/full");
  const auto [message, status] = error_of([&] { file.append("a"); });
  EXPECT_TRUE(message.starts_with("cannot write /dev/full: No space left on device")) << message;
  EXPECT_EQ(status, 1);
}

TEST(LineFile, cuts_a_torn_line_longer_than_a_block) {
  const TemporaryFolder folder;
  const auto path = folder.write("lines", "whole\n" + std::string(10000, 'x'));
  LineFile file(path);
  EXPECT_EQ(folder.read("lines"), "whole\n");
}

TEST(LineFile, cuts_a_file_that_is_one_torn_line) {
  const TemporaryFolder folder;
  const auto path = folder.write("lines", std::string(5000, 'x'));
  LineFile file(path);
  EXPECT_EQ(folder.read("lines"), "");
}

TEST(LineFile, is_written_through_no_link) {
  const TemporaryFolder folder;
  fs::create_symlink(folder.write("target", "precious\n"), folder.path() / "lines");
  EXPECT_EQ(error_of([&] { LineFile(folder.path() / "lines"); }).second, 1);
  EXPECT_EQ(folder.read("target"), "precious\n");
}

TEST(LineFile, that_was_removed_is_restored_with_all_its_lines) {
  const TemporaryFolder folder;
  LineFile file(folder.path() / "lines");
  for (int i = 0; i < 20000; ++i) file.append("line " + std::to_string(i));
  const std::string before = folder.read("lines");
  EXPECT_TRUE(file.in_place());
  fs::remove(folder.path() / "lines");
  EXPECT_FALSE(file.in_place());
  file.append("between");
  file.restore();
  file.append("after");
  EXPECT_TRUE(folder.read("lines") == before + "between\nafter\n");
}

TEST(LineFile, is_not_restored_by_half) {
  const TemporaryFolder folder;
  LineFile file(folder.path() / "lines");
  for (int i = 0; i < 10; ++i) file.append(std::string(99, 'a'));
  fs::rename(folder.path() / "lines", folder.path() / "moved");
  {
    const FileSizeLimit limit(150);
    EXPECT_EQ(error_of([&] { file.restore(); }).second, 1);
  }
  EXPECT_FALSE(fs::exists(folder.path() / "lines"));
  file.append("b");
  EXPECT_EQ(folder.read("moved").size(), 1002U) << "it goes on where all is";
  file.restore();
  EXPECT_EQ(folder.read("lines"), folder.read("moved"));
}

TEST(LineFile, goes_on_in_the_file_that_has_replaced_its_own) {
  const TemporaryFolder folder;
  LineFile file(folder.path() / "lines");
  file.append("old");
  fs::rename(folder.write("edited", "edited\n"), folder.path() / "lines");
  file.restore();
  file.append("after");
  EXPECT_EQ(folder.read("lines"), "edited\nafter\n");
}

TEST(AtomicWrite, leaves_the_old_file_alone_when_the_disk_is_full) {
  const TemporaryFolder folder;
  const auto path = folder.write("deck.toml", "old");
  {
    const FileSizeLimit limit(100);
    EXPECT_EQ(error_of([&] { write_file_atomically(path, std::string(200, 'x')); }).second, 1);
  }
  EXPECT_EQ(folder.read("deck.toml"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "a temporary file was left";
  write_file_atomically(path, "new");
  EXPECT_EQ(folder.read("deck.toml"), "new");
}

}  // namespace
}  // namespace tenax::io::test
