#include "kernels/host.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace tenax::kernels {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKib = 1024;

/// A /proc and a /sys of its own, of a host with 1 GiB available.
class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() {
    fs::remove_all(root_);
    write("proc/meminfo",
          "MemTotal:        4194304 kB\nMemFree:          100000 kB\nMemAvailable:    1048576 kB\n");
  }
  ~AvailableMemory() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void write_group(const fs::path& folder, const std::string& limit, const std::string& usage,
                   const std::string& statistics = "anon 5\n") const {
    write(folder / "memory.max", limit + "\n");
    write(folder / "memory.current", usage + "\n");
    write(folder / "memory.stat", statistics);
  }
  std::size_t available() const { return available_memory_bytes(root_); }

 private:
  const fs::path root_ = fs::temp_directory_path() / ("tenax-memory-" + std::to_string(getpid()));
};

TEST_F(AvailableMemory, is_what_the_kernel_says_where_no_group_limits_it) {
  EXPECT_EQ(available(), 1048576 * kKib);
  write("proc/self/cgroup", "0::/user.slice\n");
  write_group("sys/fs/cgroup/user.slice", "max", "700000");
  EXPECT_EQ(available(), 1048576 * kKib);
}

TEST_F(AvailableMemory, is_what_the_group_of_the_process_has_left) {
  write("proc/self/cgroup", "0::/job/step\n");
  write_group("sys/fs/cgroup/job/step", "5000000", "2000000");
  EXPECT_EQ(available(), 3000000U);
}

TEST_F(AvailableMemory, is_what_a_group_above_has_left_where_that_is_less) {
  write("proc/self/cgroup", "0::/job/step\n");
  write_group("sys/fs/cgroup/job/step", "5000000", "2000000");
  write_group("sys/fs/cgroup/job", "6000000", "5500000");
  EXPECT_EQ(available(), 500000U);
  write_group("sys/fs/cgroup", "100000", "200000");  // a container's own: all is taken
  EXPECT_EQ(available(), 0U);
}

// A group that has read large files has used up its limit, but gives these pages back.
TEST_F(AvailableMemory, counts_pages_of_files_as_available) {
  write("proc/self/cgroup", "0::/job\n");
  write_group("sys/fs/cgroup/job", "5000000", "5000000",
              "anon 2000000\nfile 3000000\ninactive_file 2500000\nactive_file 400000\n");
  EXPECT_EQ(available(), 2900000U);
}

TEST_F(AvailableMemory, knows_the_files_of_version_1_of_groups) {
  write("proc/self/cgroup", "5:cpu:/job\n4:hugetlb,memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4000000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3000000\n");
  write("sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 600000\ntotal_active_file 100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 1700000U);
  write("sys/fs/cgroup/cpu/job/memory.limit_in_bytes", "5\n");  // another controller's
  EXPECT_EQ(available(), 1700000U);
}

TEST_F(AvailableMemory, of_this_machine_is_no_more_than_it_has) {
  EXPECT_GT(available_memory_bytes(), 0U);
  EXPECT_LE(available_memory_bytes(), usable_memory_bytes());
}

class BoundNumaNode : public testing::Test {
 protected:
  BoundNumaNode() {
    fs::remove_all(root_);
    cpu_set_t usable;
    EXPECT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &usable)) cores_.push_back(core);
  }
  ~BoundNumaNode() override { fs::remove_all(root_); }

  void put(int core, const std::string& node) const {
    const fs::path folder = root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(core));
    fs::remove_all(folder);
    fs::create_directories(folder / "topology");
    fs::create_directories(folder / node);
  }

  std::vector<int> cores_;  // that this process may use
  const fs::path root_ = fs::temp_directory_path() / ("tenax-node-" + std::to_string(getpid()));
};

TEST_F(BoundNumaNode, is_that_of_all_cores_that_may_be_used) {
  EXPECT_EQ(bound_numa_node(root_), std::nullopt) << "not known";
  for (const int core : cores_) put(core, "node3");
  EXPECT_EQ(bound_numa_node(root_), 3);
  put(CPU_SETSIZE, "node1");  // another process's
  EXPECT_EQ(bound_numa_node(root_), 3);
  if (cores_.size() < 2) GTEST_SKIP() << "one core is on one node";
  put(cores_.back(), "node1");
  EXPECT_EQ(bound_numa_node(root_), std::nullopt);
}

/// An environment variable has another value, or none, while this lives.
class OtherEnvironment {
 public:
  OtherEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~OtherEnvironment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(UserCacheDirectory, is_what_the_environment_says) {
  const OtherEnvironment home("HOME", "/home/x");
  {
    const OtherEnvironment cache("XDG_CACHE_HOME", "/fast/cache");
    EXPECT_EQ(user_cache_directory(), "/fast/cache");
  }
  for (const char* const useless : {static_cast<const char*>(nullptr), "", "relative"}) {
    const OtherEnvironment cache("XDG_CACHE_HOME", useless);
    EXPECT_EQ(user_cache_directory(), "/home/x/.cache");
    const OtherEnvironment no_home("HOME", nullptr);
    EXPECT_EQ(user_cache_directory(), "");
  }
}

}  // namespace
}  // namespace tenax::kernels
