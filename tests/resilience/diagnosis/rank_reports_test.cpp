// Ranks that are threads tell each other what they measured.
#include "resilience/diagnosis/rank_reports.hpp"

#include <gtest/gtest.h>

#include "tests/comm/thread_ranks.hpp"

namespace tenax::resilience {
namespace {

constexpr int kReporters = 3;
constexpr double kDeadline_s = 60;

RankReport report_of(int rank) {
  return {.now = {.compute_s = 1.0 + rank, .tensor_bytes = 3, .preempted_s = 0.125, .sm_clock_mhz = 1200},
          .healthy = {.data_s = 0.1 * rank, .gradients_s = 5, .power_brake = 1}};
}

TEST(RankReports, are_those_of_all_ranks_on_every_rank) {
  comm::run_ranks(kReporters, kDeadline_s, [](comm::World& world) {
    const auto control = world.control_group();
    const std::vector<RankReport> reports = gather_reports(*control, report_of(world.rank()));
    ASSERT_EQ(reports.size(), static_cast<std::size_t>(kReporters));
    for (int rank = 0; rank < kReporters; ++rank)
      EXPECT_EQ(reports[static_cast<std::size_t>(rank)], report_of(rank));
  });
}

TEST(RankReports, of_another_build_are_refused) {
  comm::run_ranks(2, kDeadline_s, [](comm::World& world) {
    const auto control = world.control_group();
    if (world.rank() == 1)
      control->all_gather("another");
    else
      EXPECT_THROW(gather_reports(*control, report_of(0)), kernels::Error);
  });
}

}  // namespace
}  // namespace tenax::resilience
