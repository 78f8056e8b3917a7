#include "kernels/cpu/thread_team.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

TEST(ThreadTeam, does_each_item_once_job_after_job) {
  for (const int size : {1, 2, 5}) {
    ThreadTeam team(size);
    for (std::int64_t job = 0; job < 2000; ++job) {
      const std::int64_t count = job % 17;
      std::vector<int> done(static_cast<std::size_t>(count));
      team.run(count, size, [&](std::int64_t item, int member) {
        ASSERT_TRUE(member >= 0 && member < size);
        ++done[static_cast<std::size_t>(item)];
      });
      for (const int times : done) ASSERT_EQ(times, 1) << "size " << size << " job " << job;
    }
  }
}

TEST(ThreadTeam, members_work_at_the_same_time_and_no_more_than_may) {
  ThreadTeam team(4);
  for (const int most : {1, 3, 4}) {
    std::atomic<int> here = 0;
    std::mutex mutex;
    std::set<int> members;
    team.run(most, most, [&](std::int64_t, int member) {  // each waits until all are here
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      for (++here; here < most && std::chrono::steady_clock::now() < deadline;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex);
      members.insert(member);
    });
    EXPECT_EQ(static_cast<int>(members.size()), most);
  }
}

TEST(ThreadTeam, throws_what_any_member_threw_and_goes_on_with_the_next_job) {
  for (const int size : {1, 3}) {
    ThreadTeam team(size);
    for (int job = 0; job < 100; ++job) {
      EXPECT_THROW(team.run(50, size,
                            [](std::int64_t item, int) {
                              if (item % 10 == 7) throw std::runtime_error("item");
                            }),
                   std::runtime_error);
      std::atomic<int> done = 0;
      team.run(50, size, [&](std::int64_t, int) { ++done; });
      EXPECT_EQ(done, 50);
    }
  }
}

// Longer than helpers look for a job, and not as long.
TEST(ThreadTeam, has_all_members_again_after_a_pause) {
  ThreadTeam team(3);
  for (const int pause_us : {0, 5, 2000, 0, 2000}) {
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    std::atomic<int> here = 0;
    team.run(3, 3, [&](std::int64_t, int) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      for (++here; here < 3 && std::chrono::steady_clock::now() < deadline;) std::this_thread::yield();
    });
    EXPECT_EQ(here, 3) << "after " << pause_us << " us";
  }
}

// More helpers than cores, of several teams that work at once.
TEST(ThreadTeam, does_all_items_where_cores_are_few) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> done = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      ThreadTeam team(4);
      for (int job = 0; job < 300; ++job) team.run(8, 4, [&](std::int64_t, int) { ++done; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 4 * 300 * 8);
}

TEST(ThreadTeam, sleeps_when_it_has_no_job) {
  ThreadTeam team(3);
  team.run(3, 3, [](std::int64_t, int) {});
  const auto processor_s = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double before_s = processor_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_s() - before_s, 0.1);  // spinning would take 0.3 of each helper's core
}

TEST(ThreadTeam, wakes_nobody_for_little_memory) {
  ThreadTeam team(3);
  EXPECT_EQ(team.members_for(1000), 1);
  EXPECT_EQ(team.members_for(std::int64_t{1} << 30), 3);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadows need the addresses
/// No stacks for more than some further threads.
void limit_addresses() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{200} << 20);
  setrlimit(RLIMIT_AS, &limit);
}

TEST(ThreadTeam, that_cannot_have_its_threads_is_an_error_that_says_what_to_do) {
  const auto work = [] {
    limit_addresses();
    try {
      ThreadTeam team(1000);
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::exit(error.exit_status());
    }
  };
  EXPECT_EXIT(work(), testing::ExitedWithCode(1),
              "no more threads .*raise the limit .*or lower device.threads");
}
#endif

}  // namespace
}  // namespace tenax::kernels
