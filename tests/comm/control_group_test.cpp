#include "tests/comm/control_group_checks.hpp"

#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

class ControlGroupTest : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(ControlGroup&)>& body) {
    run_ranks(GetParam(), 20, [&](World& world) { body(*world.control_group()); });
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, ControlGroupTest, testing::Range(1, 6));

TEST(ControlGroup, leaves_its_ranks_several_turns_before_its_deadline) {
  for (const double deadline_s : {0.05, 0.8, 1.0, 60.0}) EXPECT_LE(3 * turn_seconds(deadline_s), deadline_s);
  EXPECT_EQ(turn_seconds(60), 1) << "a rank that waits is not woken all the time";
}

TEST_P(ControlGroupTest, texts_of_any_length_arrive_in_rank_order) { run(expect_texts_arrive); }
TEST_P(ControlGroupTest, sums_and_maxima_are_the_same_on_every_rank) { run(expect_reductions); }
TEST_P(ControlGroupTest, sums_in_the_order_asked_for) { run(expect_sums_in_the_order_asked_for); }
TEST_P(ControlGroupTest, every_rank_throws_the_error_of_the_lowest_failing_rank) {
  run(expect_agreement_on_lowest_failure);
}

TEST_P(ControlGroupTest, an_unfit_file_is_one_on_every_rank_and_any_other_failure_is_none) {
  run([](ControlGroup& group) {
    const auto fail = [&](const auto& error) {
      group.agree([&] {
        if (group.rank() == group.size() - 1) throw error;
      });
    };
    EXPECT_THROW(fail(kernels::UnfitFileError(kernels::Scope::rank, "cut off")), AgreedUnfitFileError);
    try {
      fail(kernels::Error(kernels::Scope::rank, "cannot be read"));
    } catch (const AgreedUnfitFileError&) {
      ADD_FAILURE() << "taken for an unfit file";
    } catch (const AgreedError& error) {
      EXPECT_STREQ(error.what(), "cannot be read");
    }
  });
}

TEST(ControlGroup, a_call_without_a_rank_ends_with_an_error_that_names_it) {
  run_ranks(3, 0.3, [](World& world) {
    const std::unique_ptr<ControlGroup> group = world.control_group();
    if (world.rank() == 2) return;
    try {
      group->all_gather({});
      ADD_FAILURE() << "the call ended without rank 2";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("all_gather: ", 0), 0U) << error.what();
      EXPECT_NE(std::string(error.what()).find("for rank 2"), std::string::npos) << error.what();
    }
  });
}

TEST(ControlGroup, a_rank_reports_its_own_failure_when_the_others_are_silent) {
  run_ranks(2, 0.3, [](World& world) {
    const std::unique_ptr<ControlGroup> group = world.control_group();
    if (world.rank() == 1) return;
    try {
      group->agree([] { throw kernels::Error(kernels::Scope::usage, "own failure"); });
      ADD_FAILURE() << "the failure was lost";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(std::string(error.what()), "own failure");
      EXPECT_EQ(error.scope(), kernels::Scope::usage);
    }
  });
}

TEST(ControlGroup, two_groups_of_one_world_work_in_different_threads) {
  run_ranks(3, 20, [](World& world) {
    const std::unique_ptr<ControlGroup> first = world.control_group(), second = world.control_group();
    std::thread other([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(second->broadcast("second", 1), "second");
    });
    for (int i = 0; i < 50; ++i) EXPECT_EQ(first->broadcast("first", 2), "first");
    other.join();
  });
}

}  // namespace
}  // namespace tenax::comm
