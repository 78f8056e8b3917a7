// A pipeline of two devices that run later than they are told to, whose link leaves its direct path in mid-iteration.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "comm/failover/failover_link.hpp"
#include "comm/staged/staged_endpoint.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/error.hpp"
#include "parallel/schedule_executor.hpp"
#include "parallel/schedule_policies.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"
#include "tests/parallel/arithmetic_stage.hpp"

namespace tenax::parallel {
namespace {

constexpr int kMicrobatches = 6;
constexpr double kPatience_s = 60;
constexpr int kForever = 1 << 20;

/// A link that breaks after so many messages of this end: that one and all that are under way.
class BrittleLink final : public comm::Link {
 public:
  BrittleLink(comm::Link& inner, int lasts) : inner_(inner), lasts_(lasts) {}
  comm::TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override {
    --lasts_;
    return std::make_unique<Brittle>(inner_.send(stream, tensor, tag), lasts_);
  }
  comm::TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override {
    --lasts_;
    return std::make_unique<Brittle>(inner_.receive(stream, tensor, tag), lasts_);
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  class Brittle final : public comm::Transfer {
   public:
    Brittle(comm::TransferPtr inner, const int& lasts) : inner_(std::move(inner)), lasts_(lasts) {}
    bool done() override {
      if (lasts_ <= 0) throw kernels::Error(kernels::Scope::link, "the direct path is cut");
      return inner_->done();
    }
    void wait(kernels::Deadline deadline) override { inner_->wait(deadline); }
    void order_before(kernels::Stream& stream, kernels::Deadline deadline) override {
      inner_->order_before(stream, deadline);
    }
    void give_up(kernels::Deadline deadline) override { inner_->give_up(deadline); }

   private:
    comm::TransferPtr inner_;
    const int& lasts_;
  };

  comm::Link& inner_;
  int lasts_;
};

struct Outcome {
  std::vector<float> values;
  std::string failure;
  comm::Arrivals arrivals;
};

Outcome train(comm::World& world, comm::Path path, int lasts) {
  const int rank = world.rank();
  const auto device =
      kernels::test::create_stand_in({.jitter_us = 200, .seed = static_cast<std::uint64_t>(rank) + 1});
  const auto transport = comm::create_transport({.kind = "shm", .interfaces = {}});
  const auto group = world.control_group();
  const auto peers = comm::exchange_peers(*group, *transport, rank, world.host());
  const auto direct =
      comm::create_staged_endpoint(world.split_endpoint(0, rank), *device, {.deadline_s = kPatience_s});
  const auto control = world.split_endpoint(0, rank);
  BrittleLink brittle(direct->link(1 - rank), lasts);
  const auto make_delegated = [&] {
    return comm::create_delegated_link("d", peers[static_cast<std::size_t>(rank)],
                                       peers[static_cast<std::size_t>(1 - rank)], *transport, *device, {});
  };
  comm::FailoverLink link(brittle, control->link(1 - rank), make_delegated, *device,
                          {2 * kMicrobatches, kPatience_s});
  if (path == comm::Path::delegated) link.set_path(path, 2);

  const PipelineSchedule schedule =
      plan_schedule(policy_of_name("1f1b"), kMicrobatches, PipelineCosts::uniform(2, {1, 1, 1}));
  const int slots = peak_slots(schedule, rank) + 1;
  ArithmeticStage stage(*device, rank, 2, slots, kMicrobatches);
  const PipelineNeighbours neighbours{rank == 1 ? &link : nullptr, rank == 0 ? &link : nullptr};
  ScheduleExecutor executor(stage, *device, neighbours, schedule.ops_of_stage[static_cast<std::size_t>(rank)],
                            {slots, kPatience_s, std::numeric_limits<double>::infinity(), 1});
  executor.run();
  link.finish_iteration();
  return {stage.outcome(), link.failure(), link.arrivals()};
}

std::array<Outcome, 2> train(comm::Path path, int lasts = kForever) {
  std::array<Outcome, 2> outcome;
  comm::run_ranks(2, kPatience_s, [&](comm::World& world) {
    outcome[static_cast<std::size_t>(world.rank())] =
        train(world, path, world.rank() == 0 ? lasts : kForever);
  });
  return outcome;
}

TEST(AsynchronousFailover, delegates_and_a_path_that_breaks_give_the_bits_of_the_direct_path) {
  const auto direct = train(comm::Path::direct), delegated = train(comm::Path::delegated),
             broken = train(comm::Path::direct, 7);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(direct[rank].failure, "");
    EXPECT_EQ(direct[rank].arrivals.direct, kMicrobatches);
    EXPECT_EQ(delegated[rank].values, direct[rank].values);
    EXPECT_EQ(delegated[rank].arrivals.delegated, kMicrobatches);
    EXPECT_EQ(broken[rank].values, direct[rank].values);
    EXPECT_NE(broken[rank].failure, "");
    EXPECT_GT(broken[rank].arrivals.delegated, 0);
  }
}

}  // namespace
}  // namespace tenax::parallel
