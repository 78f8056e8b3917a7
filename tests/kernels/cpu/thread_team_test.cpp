#include "kernels/cpu/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

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

TEST(ThreadTeam, wakes_nobody_for_little_memory) {
  ThreadTeam team(3);
  EXPECT_EQ(team.members_for(1000), 1);
  EXPECT_EQ(team.members_for(std::int64_t{1} << 30), 3);
}

}  // namespace
}  // namespace tenax::kernels
