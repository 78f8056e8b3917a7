// HangWatch, where ranks are on other hosts: a stub of a remote shell prints what their recorders hold.
#include "app/supervisor/hang_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "resilience/recorder/image_text.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;
using resilience::OperationKind;
using resilience::RecordedChannel;
using resilience::RecorderImage;

constexpr std::int64_t kSecond_ns = 1'000'000'000;

/// It stands in what it has begun.
RecorderImage image(int replica, std::int64_t steps, OperationKind kind, int channel) {
  RecorderImage image;
  image.replica = replica;
  image.steps = steps;
  image.phase = resilience::Recorder::Phase::exchange;
  RecordedChannel exchange;
  exchange.name = "exchange";
  exchange.kind = resilience::ChannelKind::exchange;
  exchange.place = replica;
  exchange.size = 2;
  exchange.started = channel >= 0 ? 1 : 0;
  image.channels = {exchange};
  resilience::RecordedOperation operation;
  operation.kind = kind;
  operation.channel = channel;
  operation.stands = true;
  image.operations = {operation};
  return image;
}

/// Replica 0 waits in the exchange for replica 1, which has begun so many steps and does not end a pass. It has contributed
/// to the last `contributed` of twenty commits.
class StandingRun {
 public:
  StandingRun(std::int64_t steps_of_culprit, int contributed) {
    fs::create_directories(folder_);
    std::ofstream printed(folder_ / "printed");
    print(printed, image(0, 100, OperationKind::exchange, 0));
    print(printed, image(1, steps_of_culprit, OperationKind::pass, -1));
    const std::string folder = "'" + folder_.string() + "'";
    std::ofstream(shell_) << "#!/bin/sh\ncat " << folder << "/printed\necho >>" << folder << "/readings\n";
    fs::permissions(shell_, fs::perms::owner_all);
    for (int replica = 0; replica < 2; ++replica) {
      ReplicaCommand command;
      command.hosts = {{"elsewhere", 1}};
      command.remote_shell = shell_;
      watch_.follow(replica, command);
    }
    for (int left = 20; left > 0; --left) {
      std::vector<resilience::Part> parts = {{0, 0, 1}};
      if (left <= contributed) parts.insert(parts.end(), {{1, 1, 1}, {1, 2, 1}});
      watch_.on_commit(parts, now_s_ += 0.3);
    }
  }
  ~StandingRun() { fs::remove_all(folder_); }
  StandingRun(const StandingRun&) = delete;
  StandingRun& operator=(const StandingRun&) = delete;

  /// Until a hang is found, or there is a reading more than `in_vain`.
  std::optional<HangWatch::Hang> look(std::uintmax_t in_vain) {
    while (readings() <= in_vain) {
      if (auto hang = watch_.look(now_s_ += 0.11)) return hang;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return {};
  }

 private:
  static void print(std::ostream& to, RecorderImage image) {
    for (const std::string id : {"before", "now"}) {
      image.read_ns += 60 * kSecond_ns;
      for (const std::string& line : image_lines(image, id + std::to_string(image.replica)))
        to << line << "\n";
    }
  }
  std::uintmax_t readings() const {
    std::error_code none_yet;
    const std::uintmax_t size = fs::file_size(folder_ / "readings", none_yet);
    return none_yet ? 0 : size;
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("hang_watch." + std::to_string(getpid()));
  const fs::path shell_ = folder_ / "shell";
  HangWatch watch_{HangWatch::Options{.is_near = false}};
  double now_s_ = 1;
};

TEST(HangWatch, finds_who_stands_on_another_host) {
  StandingRun run(8, 3);
  const auto hang = run.look(10);  // one is enough, unless the shell is slow
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->replica, 1);
}

// The run has done twenty steps since the replica's process was started.
TEST(HangWatch, takes_none_for_hanging_in_its_own_first_steps) { EXPECT_FALSE(StandingRun(1, 0).look(1)); }

// It has begun steps without samples while it fetched its state, and two with samples, of which each has two parts.
TEST(HangWatch, counts_no_steps_as_first_to_which_a_replica_has_not_contributed) {
  EXPECT_FALSE(StandingRun(8, 0).look(1));
  EXPECT_FALSE(StandingRun(8, 2).look(1));
}

}  // namespace
}  // namespace tenax::app
