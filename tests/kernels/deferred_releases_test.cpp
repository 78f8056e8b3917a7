#include "kernels/deferred_releases.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tenax::kernels {
namespace {

Deadline at_once() { return Deadline::after_s(0); }

TEST(DeferredReleases, free_once_and_only_what_is_through) {
  DeferredReleases releases;
  bool first_is_through = false;
  int first = 0, second = 0;
  releases.add([&] { return first_is_through; }, [&] { ++first; });
  releases.add([] { return true; }, [&] { ++second; });
  releases.collect();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(releases.count(), 1u);
  EXPECT_FALSE(releases.collect_all(at_once()));
  first_is_through = true;
  EXPECT_TRUE(releases.collect_all(at_once()));
  releases.collect();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(releases.count(), 0u);
}

TEST(DeferredReleases, wait_until_the_deadline_for_what_is_not_through_yet) {
  DeferredReleases releases;
  int asked = 0, freed = 0;
  releases.add([&] { return ++asked > 3; }, [&] { ++freed; });
  EXPECT_TRUE(releases.collect_all(Deadline::after_s(60)));
  EXPECT_EQ(freed, 1);
}

TEST(DeferredReleases, let_what_is_freed_let_go_of_more) {
  DeferredReleases releases;
  int freed = 0;
  const auto owner = [&] {
    return std::shared_ptr<int>(new int, [&](const int* memory) {
      delete memory;
      releases.add([] { return true; }, [&] { ++freed; });
    });
  };
  releases.add([] { return true; }, [memory = owner()] {});
  releases.collect();
  releases.collect();
  EXPECT_EQ(freed, 1);
}

TEST(DeferredReleases, leave_what_is_in_use_at_the_end_alone) {
  const auto memory = std::make_shared<int>(7);
  {
    DeferredReleases releases;
    releases.add([] { return false; }, [memory] { *memory = 0; });
  }
  EXPECT_EQ(*memory, 7);
  EXPECT_EQ(memory.use_count(), 2) << "streams may still use it";
}

}  // namespace
}  // namespace tenax::kernels
