#include "parallel/replica/gpt_replica.hpp"

#include <gtest/gtest.h>

#include "kernels/cpu_device.hpp"
#include "tests/parallel/replica/failing_world.hpp"

namespace tenax::parallel {
namespace {

Replica::Evaluation evaluate_where_failed(const std::string& group, bool has_failed) {
  const auto worlds = comm::create_thread_worlds(1, {.deadline_s = 20});
  FailingWorld world(*worlds.front(), group, has_failed);
  const auto device = kernels::create_cpu_device();
  const std::vector<comm::Peer> nobody;
  const Layout layout = tiny_layout(false);
  GptReplica replica(layout, ProcessGrid(layout.grid),
                     {.options = {}, .world = world, .device = *device, .peers = nobody}, {});
  const std::vector<std::int32_t> windows(kTinyWindow);
  return replica.evaluate({1, windows}, [] { return std::vector<double>{}; });
}

// The data group's gathers of the last update may have failed: the weights are another mixture on each rank then.
TEST(GptReplica, tells_no_loss_of_passes_on_what_a_group_failed_to_bring) {
  for (const char* const group : {"tensor", "data"}) {
    EXPECT_NO_THROW(evaluate_where_failed(group, false));
    try {
      evaluate_where_failed(group, true);
      ADD_FAILURE() << "the " << group << " group had failed";
    } catch (const kernels::Error& error) {
      EXPECT_STREQ(error.what(), kLost);
    }
  }
}

}  // namespace
}  // namespace tenax::parallel
