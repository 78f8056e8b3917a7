#include "app/training/start_elsewhere.hpp"

#include <limits>
#include <map>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

using Variables = std::map<std::string, std::string>;

/// Of a run on n1, with two ranks, and n2, whose directory may have an exclude_hosts.txt.
int spare(const Variables& variables, const std::string& excluded = "") {
  const io::test::TemporaryFolder folder;
  if (!excluded.empty()) folder.write("exclude_hosts.txt", excluded);
  return spare_hosts(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      {"n1.cluster", "n1.cluster", "n2.cluster"}, folder.path());
}

TEST(SpareHosts, are_those_of_the_allocation_or_any_where_a_script_submits_again) {
  EXPECT_EQ(spare({}), 0);
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "1"}}), 0);
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "2"}}), 0);
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "5"}}), 3);
  for (const char* const garbled : {"many", "5x", "99999999999"})
    EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", garbled}}), 0);
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "2"}, {"TENAX_REQUEUE", "1"}}), std::numeric_limits<int>::max());
  EXPECT_EQ(spare({{"TENAX_REQUEUE", "0"}}), 0);
}

TEST(SpareHosts, are_not_those_that_are_left_out_already) {
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "5"}}, "n3.cluster\nn4\n"), 1);
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "5"}}, "n2\n"), 3) << "it is in use all the same";
  EXPECT_EQ(spare({{"SLURM_JOB_NUM_NODES", "3"}}, "n3\nn4\n"), 0);
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
