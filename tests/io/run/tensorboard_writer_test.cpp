#include "io/run/tensorboard_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "io/run/tensorboard_records.hpp"
#include "io/whole_file.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::string text;
  EXPECT_FALSE(read_text_file(file, text));
  return text;
}

std::vector<fs::path> event_files(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run / "tensorboard")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// How often each step has a loss, and a validation loss, over all files of the run; every byte belongs to a record.
std::map<std::pair<std::string, std::int64_t>, int> scalars_of(const fs::path& run) {
  std::map<std::pair<std::string, std::int64_t>, int> count;
  for (const fs::path& file : event_files(run)) {
    const std::string text = text_of(file);
    std::size_t at = 0;
    while (const auto event = front_record(std::string_view(text).substr(at))) {
      at += record_size(event->size());
      for (const char* tag : {"grad_norm", "validation_loss"})
        if (event->find(tag) != std::string_view::npos) ++count[{tag, step_of_event(*event)}];
    }
    EXPECT_EQ(at, text.size());
  }
  return count;
}

TrainingMetrics training_metrics_of(std::int64_t step) { return {step, 2.5, 0.5, 1e-3, 128, 0.1, 1280}; }

TEST(TensorBoardRecords, checksums_are_those_of_RFC_3720) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
}

TEST(TensorBoardRecords, are_framed_as_TensorFlow_does) {
  // tf.io.TFRecordWriter of b"tenax": length, masked checksum of it, bytes, masked checksum of them.
  const std::string record = record_of("tenax");
  ASSERT_EQ(record.size(), record_size(5));
  EXPECT_EQ(record.substr(0, 8), std::string("\x05\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 5), "tenax");
  EXPECT_EQ(front_record(record), "tenax");
  for (std::size_t i = 0; i < record.size(); ++i) {
    std::string damaged = record;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_FALSE(front_record(damaged)) << "byte " << i;
  }
}

TEST(TensorBoardRecords, scalars_are_protocol_buffers) {
  const std::string event = scalars_event(1.0, 300, {{"lr", 0.5}});
  const std::string wanted = std::string("\x09\0\0\0\0\0\0\xF0\x3F", 9) +  // 1: double 1.0
                             "\x10\xAC\x02" +                              // 2: varint 300
                             "\x2A\x0B" + "\x0A\x09" + "\x0A\x02lr" +      // 5: summary { 1: value { 1: tag
                             std::string("\x15\0\0\0\x3F", 5);             //   2: float 0.5 } }
  EXPECT_EQ(event, wanted);
  EXPECT_EQ(step_of_event(event), 300);
}

TEST(TensorBoardWriter, resuming_appends_a_file_and_repeats_no_step) {
  const TemporaryFolder folder;
  {
    TensorBoardWriter writer(folder.path(), 0);
    for (int step = 0; step < 8; ++step) {
      writer.training(training_metrics_of(step));
      if (step % 2 == 1) writer.validation(step + 1, 2.0);
    }
  }
  std::ofstream(event_files(folder.path()).front(), std::ios::app) << "torn";
  {
    TensorBoardWriter writer(folder.path(), 6);
    for (int step = 6; step < 10; ++step) writer.training(training_metrics_of(step));
    writer.validation(8, 1.5);
  }
  EXPECT_EQ(event_files(folder.path()).size(), 2U);
  const auto count = scalars_of(folder.path());
  for (int step = 0; step < 10; ++step) EXPECT_EQ(count.at({"grad_norm", step}), 1) << step;
  for (const int step : {2, 4, 6, 8}) EXPECT_EQ(count.at({"validation_loss", step}), 1) << step;
  EXPECT_EQ(count.size(), 14U);
}

TEST(TensorBoardWriter, a_run_from_the_start_leaves_nothing_of_an_older_one) {
  const TemporaryFolder folder;
  TensorBoardWriter(folder.path(), 0).training(training_metrics_of(3));
  TensorBoardWriter(folder.path(), 0).training(training_metrics_of(0));
  const auto count = scalars_of(folder.path());
  EXPECT_EQ(count.size(), 1U);
  EXPECT_EQ(count.count({"grad_norm", 0}), 1U);
}

TEST(TensorBoardWriter, leaves_out_what_is_not_a_number) {
  const TemporaryFolder folder;
  TrainingMetrics metrics = training_metrics_of(0);
  metrics.loss = metrics.grad_norm = std::nan("");
  TensorBoardWriter(folder.path(), 0).training(metrics);
  EXPECT_TRUE(scalars_of(folder.path()).empty());
  EXPECT_NE(text_of(event_files(folder.path()).front()).find("tokens_per_second"), std::string::npos);
}

}  // namespace
}  // namespace tenax::io::test
