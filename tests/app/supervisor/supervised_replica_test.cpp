// A replica through its incarnations, as far as none is started.
#include "app/supervisor/supervised_replica.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

}  // namespace
}  // namespace tenax::app
