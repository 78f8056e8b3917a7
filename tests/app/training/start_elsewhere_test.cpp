#include "app/training/start_elsewhere.hpp"

#include <map>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

using Variables = std::map<std::string, std::string>;

bool can_start(const Variables& variables, int hosts_used) {
  return can_start_elsewhere(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      hosts_used);
}

TEST(StartElsewhere, needs_an_allocation_with_more_hosts_or_a_script_that_submits_again) {
  EXPECT_FALSE(can_start({}, 1));
  EXPECT_FALSE(can_start({{"SLURM_JOB_NUM_NODES", "2"}}, 2));
  EXPECT_TRUE(can_start({{"SLURM_JOB_NUM_NODES", "3"}}, 2));
  EXPECT_FALSE(can_start({{"SLURM_JOB_NUM_NODES", "many"}}, 1));
  EXPECT_TRUE(can_start({{"SLURM_JOB_NUM_NODES", "2"}, {"TENAX_REQUEUE", "1"}}, 2));
  EXPECT_FALSE(can_start({{"TENAX_REQUEUE", "0"}}, 1));
}

TEST(ExcludeHosts, adds_each_host_once) {
  const io::test::TemporaryFolder folder;
  exclude_hosts(folder.path(), {"n2", "n1", "n2"});
  EXPECT_EQ(folder.read("exclude_hosts.txt"), "n2\nn1\n");
  folder.write("exclude_hosts.txt", "n2\nby-hand");
  exclude_hosts(folder.path(), {"n3", "n2"});
  EXPECT_EQ(folder.read("exclude_hosts.txt"), "n2\nby-hand\nn3\n");
  exclude_hosts(folder.path(), {});
  EXPECT_EQ(folder.read("exclude_hosts.txt"), "n2\nby-hand\nn3\n");
}

TEST(ExcludeHosts, says_which_file_cannot_be_written) {
  const io::test::TemporaryFolder folder;
  const auto [message, status] = io::test::error_of([&] { exclude_hosts(folder.path() / "gone", {"n1"}); });
  EXPECT_NE(message.find("gone"), std::string::npos) << message;
  EXPECT_EQ(status, 1);
}

}  // namespace
}  // namespace tenax::app
