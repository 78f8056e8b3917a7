// A supervisor that meets what an earlier one has left.
#include "app/supervisor/supervisor.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/launch/launch_files.hpp"
#include "comm/failure.hpp"
#include "comm/messages/message_server.hpp"
#include "comm/transport/connection_request.hpp"
#include "comm/world.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

/// Nobody talks to it.
struct SilentHandler : comm::MessageHandler {
  void on_open(comm::MessagePeerId, const std::string&) override {}
  void on_message(comm::MessagePeerId, const std::string&) override {}
  void on_close(comm::MessagePeerId, const std::string&) override {}
  void on_time() override {}
};

/// Of a run in `folder` of which `process` is the only replica that lives.
void leave_replica(const io::test::TemporaryFolder& folder, const ProcessId& process, const Build& build,
                   const std::string& deck) {
  const fs::path run = folder.path() / "run";
  fs::create_directories(run / "replica-0");
  fs::create_directories(run / "checkpoints");
  JoinFile{.run_id = "0123456789abcdef",
           .secret = comm::JobSecret::draw().text(),
           .deck = folder.write("run/deck.toml", deck),
           .build = build.text(),
           .resume = "auto",
           .incarnation = 1}
      .write(run / "replica-0/join");
  LaunchFile{.supervisor = {comm::this_host(), {}},
             .replicas = {{.incarnation = 1, .process = {comm::this_host(), process}}},
             .service = "127.0.0.1:1"}
      .write(run / "launch.json");
}

TEST(Supervisor, that_cannot_take_a_run_over_leaves_the_files_of_replicas_that_live) {
  const io::test::TemporaryFolder folder;
  SilentHandler handler;
  const comm::MessageServer other({.secret = comm::JobSecret::draw(), .listen = {}, .interfaces = {"lo"}},
                                  handler);
  const std::string address = comm::plain_address(other.addresses().front());
  const Build build{"1", "test"};
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck_of_replicas(folder.write("deck.toml", io::test::kSmallDeck),
                             {"run.output_dir=" + folder.path().string() + "/run", "parallel.replicas=2",
                              "replicas.listen=" + address.substr(address.find(':') + 1)});
  auto process =
      ReplicaProcess::start({.words = {"sleep", "60"}, .environment = {}, .log = folder.path() / "log"});
  leave_replica(folder, process.id(), build, io::to_toml(rank.deck()));
  const fs::path half = folder.write("run/checkpoints/.step-000007.h5.replica-0.1.tmp-other-1", "half");
  {
    Supervisor supervisor(rank, build, nullptr, 0);
    ASSERT_TRUE(supervisor.takes_over());
    EXPECT_THROW(supervisor.start(), kernels::Error) << "another program has its port";
    EXPECT_FALSE(supervisor.has_run());
  }
  EXPECT_TRUE(fs::exists(half));
  EXPECT_FALSE(process.end_status());
  process.kill_session();
}

}  // namespace
}  // namespace tenax::app
