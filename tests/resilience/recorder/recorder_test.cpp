#include "resilience/recorder/recorder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "kernels/deadline.hpp"
#include "resilience/recorder/recorder_image.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::resilience {
namespace {

class RecorderTest : public io::DirectoryTest {
 protected:
  std::filesystem::path file() const { return directory_ / recorder_name(3); }
  RecorderImage image() const { return image_of(*RecorderMap::open(file())); }

  static constexpr std::int64_t kBytes = 64;
};

TEST_F(RecorderTest, takes_less_than_a_megabyte) {
  const Recorder recorder(file(), {1, 3, "here"});
  EXPECT_LT(std::filesystem::file_size(file()), 1U << 20);
}

TEST_F(RecorderTest, holds_what_has_begun_and_what_has_ended) {
  Recorder recorder(file(), {1, 3, "here"});
  const int channel = recorder.add_channel("tensor@0", ChannelKind::group, 1, 2);
  recorder.reach(Recorder::Phase::passes, 7);
  recorder.end(recorder.begin(OperationKind::all_reduce, channel, kBytes));
  const auto pass = recorder.begin(OperationKind::pass, -1, 0, "F3");
  recorder.stand(recorder.begin(OperationKind::all_reduce, channel, kBytes), true);
  const RecorderImage image = this->image();
  EXPECT_EQ(image.replica, 1);
  EXPECT_EQ(image.rank, 3);
  EXPECT_EQ(image.host, "here");
  EXPECT_EQ(image.pid, getpid());
  EXPECT_EQ(image.step, 7);
  ASSERT_EQ(image.operations.size(), 3U);
  EXPECT_NE(image.operations[0].finished_ns, 0);
  EXPECT_EQ(image.operations[1].label, "F3");
  EXPECT_EQ(image.operations[1].finished_ns, 0);
  EXPECT_EQ(image.operations[2].number, 1);
  EXPECT_TRUE(image.operations[2].stands);
  ASSERT_EQ(image.channels.size(), 1U);
  EXPECT_EQ(image.channels[0].name, "tensor@0");
  EXPECT_EQ(image.channels[0].started, 2);
  EXPECT_EQ(image.channels[0].finished, 1);
  recorder.end(pass);
}

TEST_F(RecorderTest, forgets_the_oldest_and_counts_on) {
  Recorder recorder(file(), {0, 3, "here"});
  const int channel = recorder.add_channel("data@0", ChannelKind::group, 0, 2);
  const auto first = recorder.begin(OperationKind::all_gather, channel, kBytes);
  constexpr int kMore = 3 * static_cast<int>(RecorderFile::kSlots);
  for (int i = 0; i < kMore; ++i) recorder.end(recorder.begin(OperationKind::all_gather, channel, kBytes));
  recorder.end(first);  // whose slot others have
  const RecorderImage image = this->image();
  EXPECT_EQ(image.operations.size(), RecorderFile::kSlots);
  EXPECT_EQ(image.channels[0].started, kMore + 1);
  EXPECT_EQ(image.channels[0].finished, kMore + 1);
  for (const RecordedOperation& operation : image.operations) EXPECT_NE(operation.finished_ns, 0);
}

TEST_F(RecorderTest, a_channel_that_was_given_back_is_used_again) {
  Recorder recorder(file(), {0, 3, "here"});
  for (std::size_t i = 0; i < 3 * RecorderFile::kChannels; ++i)
    recorder.remove_channel(recorder.add_channel("direct", ChannelKind::connection, 0, 2));
  EXPECT_GE(recorder.add_channel("last", ChannelKind::connection, 0, 2), 0);
  EXPECT_EQ(image().channels.size(), 1U);
}

TEST_F(RecorderTest, goes_on_where_there_are_too_many_channels) {
  Recorder recorder(file(), {0, 3, "here"});
  for (std::size_t i = 0; i < RecorderFile::kChannels; ++i)
    ASSERT_GE(recorder.add_channel("a", ChannelKind::group, 0, 2), 0);
  const int none = recorder.add_channel("b", ChannelKind::group, 0, 2);
  EXPECT_EQ(none, -1);
  recorder.end(recorder.begin(OperationKind::sum, none, kBytes));
  recorder.count(none, 1);
  EXPECT_EQ(image().operations.size(), 1U);
}

// Every word of an operation says which one it is: a mixture would show.
TEST_F(RecorderTest, is_read_whole_while_threads_write) {
  Recorder recorder(file(), {0, 3, "here"});
  const int channel = recorder.add_channel("data@0", ChannelKind::group, 0, 2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer)
    writers.emplace_back([&] {
      for (std::int64_t i = 0; !stop; ++i) {
        const auto ticket = recorder.begin(OperationKind::all_reduce, channel, 2 * i, {}, i);
        recorder.look(ticket);
        recorder.end(ticket);
      }
    });
  // Its own, and one by a writer that has stood since its slot was another's.
  constexpr std::uint32_t kMostLooks = 2;
  int seen = 0, mixed = 0;
  const auto patience = kernels::Deadline::after_s(60);
  for (int round = 0; (round < 50 || seen <= 1000) && !patience.expired(); ++round)
    for (const RecordedOperation& operation : image().operations) {
      ++seen;
      mixed += operation.bytes != 2 * operation.number || operation.looks > kMostLooks;
    }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(seen, 1000);
  EXPECT_EQ(mixed, 0);
}

TEST_F(RecorderTest, is_read_while_its_process_is_stopped_and_after_it_has_ended) {
  const pid_t child = fork();
  if (child == 0) {
    Recorder recorder(file(), {0, 3, "there"});
    recorder.begin(OperationKind::pass, -1, 0, "B1");
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(image().operations.at(0).label, "B1");
  EXPECT_EQ(image().pid, child);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_EQ(image().operations.at(0).finished_ns, 0);
}

TEST_F(RecorderTest, refuses_a_file_that_is_none) {
  io::write_file(file(), "no recorder");
  EXPECT_NE(io::error_of([&] { RecorderMap::open(file()); }).find("cannot be read"), std::string::npos);
  EXPECT_NE(io::error_of([&] {
              Recorder(directory_ / "none" / "recorder-0", {0, 0, ""});
            }).find("cannot be made"),
            std::string::npos);
}

}  // namespace
}  // namespace tenax::resilience
