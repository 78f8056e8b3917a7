#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/shared_memory/shared_memory_communicator.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

std::vector<std::string> segments_of_this_process() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (entry.path().filename().string().starts_with("tenax." + std::to_string(getpid()) + "."))
      names.push_back(entry.path().filename());
  return names;
}

TEST(SharedSegment, is_seen_by_all_ranks_and_has_no_name_any_more) {
  run_ranks(2, 20, [](World& world) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto segment = share_segment(*endpoint, 8192, 10);
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(segment->bytes(), 8192U);
  });
  EXPECT_TRUE(segments_of_this_process().empty());
}

TEST(SharedSegment, that_shared_memory_has_no_room_for_is_none_and_leaves_nothing_behind) {
  constexpr std::size_t kTooLarge = std::size_t{1} << 50;
  run_ranks(2, 20, [](World& world) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    EXPECT_EQ(share_segment(*endpoint, kTooLarge, 10), nullptr);
  });
  EXPECT_TRUE(segments_of_this_process().empty());
}

}  // namespace
}  // namespace tenax::comm
