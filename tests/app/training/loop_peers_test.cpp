#include "app/training/loop_peers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "comm/transport/transports.hpp"
#include "comm/world.hpp"
#include "kernels/cpu_device.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"
#include "resilience/replicas/step_points.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/parallel/replica/failing_world.hpp"

namespace tenax::app {
namespace {

struct ExchangeBegins {};

/// Where the replica's numbers would go to the others, who are not there.
class UntilExchange final : public resilience::StepPoints {
 public:
  void reach(resilience::StepPoint point, std::int64_t) override {
    if (point == resilience::StepPoint::exchange) throw ExchangeBegins();
  }
};

/// A rank of a replica that has others, and is not its replica's first.
class LoopPeersTest : public testing::Test {
 protected:
  // What a step does before.
  void pass_and_wait_for_sums(const std::string& failing_group) {
    parallel::FailingWorld world(*world_, failing_group, has_failed_);
    parallel::GptReplica replica(layout_, parallel::ProcessGrid(layout_.grid),
                                 {.options = {}, .world = world, .device = *device_, .peers = nobody_}, {});
    LoopPeers peers(deck_, replica, &session_, nullptr, 0, true);
    const std::vector<std::int32_t> windows(parallel::kTinyWindow);
    replica.passes({1, windows}, {}, nullptr);
    replica.reduce();
    peers.wait_for_sums(false);
  }

  bool has_failed_ = false;

 private:
  const io::Deck deck_;
  const parallel::Layout layout_ = parallel::tiny_layout(true);
  const std::vector<comm::Peer> nobody_;
  const std::unique_ptr<comm::World> world_ =
      std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  const std::unique_ptr<comm::ControlGroup> control_ = world_->control_group();
  const std::unique_ptr<comm::Transport> transport_ = comm::create_transport(
      {.kind = comm::TransportKind::tcp, .interfaces = {"lo"}, .deadline_s = 20, .secret = comm::one_job()});
  const std::unique_ptr<kernels::Device> device_ = kernels::create_cpu_device();
  const resilience::FrozenEpoch frozen_;
  UntilExchange points_;
  resilience::ReplicaSession session_{*control_, *transport_, *transport_, *device_, nullptr,
                                      frozen_,   {},          points_,     {}};
};

TEST_F(LoopPeersTest, exchanges_what_well_groups_have_summed) {
  EXPECT_THROW(pass_and_wait_for_sums("tensor"), ExchangeBegins);
}

// Other replicas would commit the step with them.
TEST_F(LoopPeersTest, tells_nobody_numbers_of_sums_that_a_group_failed_to_form) {
  has_failed_ = true;
  for (const char* const group : {"tensor", "data"}) {
    try {
      pass_and_wait_for_sums(group);
      ADD_FAILURE() << "the " << group << " group had failed";
    } catch (const kernels::Error& error) {
      EXPECT_STREQ(error.what(), parallel::kLost);
    }
  }
}

}  // namespace
}  // namespace tenax::app
