// A replica through its incarnations, as far as no rank is started.
#include "app/supervisor/supervised_replica.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/deadline.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

SupervisedReplica replica_in(const fs::path& directory) {
  fs::create_directories(directory);
  return {SupervisedReplica::Options{.directory = directory, .run_id = "r", .restart = {}, .command = {}}, 0};
}

TEST(SupervisedReplica, of_another_host_is_overdue_unless_it_is_heard_of) {
  const fs::path scratch =
      fs::path(::testing::TempDir()) / ("supervised_replica." + std::to_string(getpid()));
  const LaunchFile::Replica known{.replica = 0, .incarnation = 3, .process = {"elsewhere", {}}};
  const double later_s = kernels::steady_now_s() + 120;
  SupervisedReplica replica = replica_in(scratch);
  replica.adopt_elsewhere(known, {});
  EXPECT_TRUE(replica.is_overdue(later_s)) << "it may never have got that far";
  replica.on_heard();
  EXPECT_FALSE(replica.is_overdue(later_s));
  EXPECT_EQ(replica.incarnation(), 3);
  fs::remove_all(scratch);
}

/// Plays a remote shell: what it starts goes on until it is killed, and the end takes half a second.
fs::path slow_shell(const fs::path& directory) {
  fs::create_directories(directory);
  const fs::path file = directory / "shell";
  std::ofstream(file) << "#!/bin/sh\ncase \"$2\" in *--end*) exec sleep 0.5;; esac\nexec sleep 60\n";
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

SupervisedReplica remote_replica(int replica, const fs::path& directory, const fs::path& shell) {
  SupervisedReplica::Options options{.replica = replica,
                                     .directory = directory / std::to_string(replica),
                                     .run_id = "test" + std::to_string(getpid()),
                                     .restart = {},
                                     .command = {}};
  options.command.hosts = {{"elsewhere", 1}};
  options.command.remote_shell = shell;
  return {options, 0};
}

TEST(SupervisedReplica, that_ends_on_a_slow_host_holds_up_no_other) {
  const fs::path directory = fs::path(::testing::TempDir()) / ("slow_ends." + std::to_string(getpid()));
  const fs::path shell = slow_shell(directory);
  std::vector<SupervisedReplica> replicas;
  for (int k = 0; k < 6; ++k) {
    replicas.push_back(remote_replica(k, directory, shell));
    replicas.back().start({});
  }
  const double start_s = kernels::steady_now_s();
  for (SupervisedReplica& replica : replicas) replica.kill();
  const auto left = [&] {
    return std::count_if(replicas.begin(), replicas.end(), [](auto& replica) { return !replica.is_over(); });
  };
  EXPECT_EQ(left(), 6);
  while (left() > 0 && kernels::steady_now_s() < start_s + 10) usleep(10000);
  const double took_s = kernels::steady_now_s() - start_s;
  EXPECT_GE(took_s, 0.5) << "nobody has asked the hosts";
  EXPECT_LT(took_s, 2.9) << "one after the other";
  fs::remove_all(directory);
}

TEST(SupervisedReplica, knows_a_remote_mpirun_once_it_has_said_which_it_is) {
  const fs::path directory = fs::path(::testing::TempDir()) / ("remote_mpirun." + std::to_string(getpid()));
  SupervisedReplica replica = remote_replica(0, directory, slow_shell(directory));
  replica.start({});
  EXPECT_FALSE(replica.launched().mpirun);
  const fs::path file = replica.command().process_file;
  std::ofstream(file) << "4711 81234567\n";
  ASSERT_TRUE(replica.launched().mpirun);
  fs::remove(file);
  ASSERT_TRUE(replica.launched().mpirun) << "it was read once";
  EXPECT_EQ(replica.launched().mpirun->id.pid, 4711);
  replica.kill();
  const auto await_end = [&] {
    const double latest_s = kernels::steady_now_s() + 10;
    while (!replica.is_over() && kernels::steady_now_s() < latest_s) usleep(10000);
  };
  await_end();
  replica.start({});
  EXPECT_FALSE(replica.launched().mpirun) << "another start";
  replica.kill();
  await_end();
  fs::remove_all(directory);
}

}  // namespace
}  // namespace tenax::app
