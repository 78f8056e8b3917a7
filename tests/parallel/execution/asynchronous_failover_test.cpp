// A pipeline of two devices that run later than they are told to, whose link leaves its direct path in mid-iteration.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "comm/staged/staged.hpp"
#include "kernels/error.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"
#include "tests/parallel/execution/failover_rank.hpp"

namespace tenax::parallel {
namespace {

/// A link that breaks: all that is under way. `left`: after so many messages of this end.
class BrittleLink final : public comm::Link {
 public:
  BrittleLink(comm::Link& inner, std::atomic<int>& left) : inner_(inner), left_(left) {}
  comm::TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override {
    --left_;
    return std::make_unique<Brittle>(inner_.send(stream, tensor, tag), left_);
  }
  comm::TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override {
    --left_;
    return std::make_unique<Brittle>(inner_.receive(stream, tensor, tag), left_);
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  class Brittle final : public comm::Transfer {
   public:
    Brittle(comm::TransferPtr inner, const std::atomic<int>& left) : inner_(std::move(inner)), left_(left) {}
    bool done() override {
      if (left_ <= 0) throw kernels::Error(kernels::Scope::link, "the direct path is cut");
      return inner_->done();
    }
    void wait(kernels::Deadline deadline) override { inner_->wait(deadline); }
    void order_before(kernels::Stream& stream, kernels::Deadline deadline) override {
      inner_->order_before(stream, deadline);
    }
    bool orders_without_blocking() const override { return inner_->orders_without_blocking(); }
    void cancel(kernels::Deadline deadline) override { inner_->cancel(deadline); }

   private:
    comm::TransferPtr inner_;
    const std::atomic<int>& left_;
  };

  comm::Link& inner_;
  std::atomic<int>& left_;
};

struct Outcome {
  std::vector<float> values;
  std::string failure;
  comm::Arrivals arrivals;
  int runs = 0;
};
using Outcomes = std::array<Outcome, 2>;

Outcome outcome_of(FailoverRank& rank) {
  const int runs = rank.train();
  return {rank.stage().outcome(), rank.link().failure(), rank.link().arrivals(), runs};
}

std::unique_ptr<kernels::Device> device_of(int rank) {
  return kernels::test::create_stand_in({.jitter_us = 200, .seed = static_cast<std::uint64_t>(rank) + 1});
}

/// Over a direct path whose receives only the host waits for; rank 0's end of it lasts for so many messages.
Outcomes train(comm::Path path, int lasts = 1 << 20) {
  Outcomes outcomes;
  comm::run_ranks(2, kPatience_s, [&](comm::World& world) {
    const int rank = world.rank();
    const auto device = device_of(rank);
    const auto direct =
        comm::create_staged_endpoint(world.split_endpoint(0, rank), *device, {.deadline_s = kPatience_s});
    std::atomic<int> left = rank == 0 ? lasts : 1 << 20;
    BrittleLink brittle(direct->link(1 - rank), left);
    FailoverRank stage(world, *device, brittle, kPatience_s);
    if (path == comm::Path::delegated) stage.link().set_path(path, 2);
    outcomes[static_cast<std::size_t>(rank)] = outcome_of(stage);
  });
  return outcomes;
}

TEST(AsynchronousFailover, delegates_and_a_path_that_breaks_give_the_bits_of_the_direct_path) {
  constexpr int kMicrobatches = FailoverRank::kMicrobatches;
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
    EXPECT_LE(broken[rank].runs, 2) << "the next run is over delegates";
  }
}

/// A run whose direct path breaks: all that it made is let go of at the end.
void fail_over(comm::World& world, kernels::Device& device) {
  const int rank = world.rank();
  const auto direct =
      comm::create_staged_endpoint(world.split_endpoint(0, rank), device, {.deadline_s = kPatience_s});
  std::atomic<int> left = rank == 0 ? 7 : 1 << 20;
  BrittleLink brittle(direct->link(1 - rank), left);
  FailoverRank stage(world, device, brittle, kPatience_s);
  stage.train();
  EXPECT_NE(stage.link().failure(), "");
}

// What stands at a message that another rank owes, for longer than anybody would wait, does not make the device forget what it
// has to give back.
TEST(AsynchronousFailover, memory_is_flat_over_fifty_of_them_though_a_stream_stands_at_each) {
  comm::run_ranks(2, kPatience_s, [&](comm::World& world) {
    kernels::test::StandInUse use;
    const auto device = kernels::test::create_stand_in({.seed = 1, .use = &use});
    const auto standing = device->create_stream();
    const auto gate = device->create_flag();
    std::size_t flat_bytes = 0;
    for (std::uint32_t round = 1; round <= 50; ++round) {
      standing->wait(*gate, round);
      fail_over(world, *device);
      EXPECT_GT(use.all(), flat_bytes) << "the stream may use it yet";
      gate->set(round);
      standing->synchronize(kernels::Deadline::after_s(kPatience_s));
      device->reclaim_memory();
      if (round == 1) flat_bytes = use.all();
      EXPECT_EQ(use.all(), flat_bytes) << "after failover " << round;
    }
  });
}

/// Over a direct path that the device waits for itself (delegates stand for it). The second stage's device is held until the
/// first one's has got an op that waits for a gradient; then `left` of the first one's end becomes what is given.
Outcomes train_while_held(int left_then) {
  Outcomes outcomes;
  std::atomic<int> left = 1 << 20;
  std::atomic<ArithmeticStage*> first = nullptr;
  comm::run_ranks(2, kPatience_s, [&](comm::World& world) {
    const int rank = world.rank();
    const auto device = device_of(rank);
    const auto transport = comm::create_transport(
        {.kind = comm::TransportKind::shared_memory, .interfaces = {}, .secret = comm::one_job()});
    const auto group = world.control_group();
    const auto peers = comm::exchange_peers(*group, *transport, rank, world.host());
    const auto direct = comm::create_delegated_link("direct", peers[static_cast<std::size_t>(rank)],
                                                    peers[static_cast<std::size_t>(1 - rank)], *transport,
                                                    *device, {.delegates = 1});
    std::atomic<int> lasts = 1 << 20;
    BrittleLink brittle(*direct, rank == 0 ? left : lasts);
    FailoverRank stage(world, *device, brittle, kPatience_s);
    const auto gate = device->create_flag();
    std::thread opener;
    if (rank == 0) first = &stage.stage();
    group->all_gather({});
    if (rank == 1) {
      stage.stage().stream().wait(*gate, 1);
      opener = std::thread([&] {
        constexpr int kTwoForwardsAndABackward = 3;
        const auto deadline = kernels::Deadline::after_s(kPatience_s);
        while (first.load()->launched() < kTwoForwardsAndABackward && !deadline.expired())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_GE(first.load()->launched(), kTwoForwardsAndABackward);
        left = left_then;
        gate->set(1);
      });
    }
    outcomes[static_cast<std::size_t>(rank)] = outcome_of(stage);
    if (opener.joinable()) opener.join();
    group->all_gather({});  // each uses the other's stage, or its link
  });
  return outcomes;
}

TEST(AsynchronousFailover, the_device_waits_for_messages_of_a_healthy_direct_path_itself) {
  const auto direct = train(comm::Path::direct), ahead = train_while_held(1 << 20);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(ahead[rank].values, direct[rank].values);
    EXPECT_EQ(ahead[rank].runs, 1);
    EXPECT_EQ(ahead[rank].arrivals.direct, FailoverRank::kMicrobatches);
  }
}

TEST(AsynchronousFailover,
     what_a_device_computed_without_its_message_is_void_and_the_next_run_gives_the_same_bits) {
  const auto direct = train(comm::Path::direct), cut = train_while_held(0);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(cut[rank].values, direct[rank].values);
    EXPECT_EQ(cut[rank].runs, 2);
    EXPECT_NE(cut[rank].failure, "");
    EXPECT_GT(cut[rank].arrivals.delegated, 0);
  }
  EXPECT_EQ(cut[0].arrivals.direct, 0);
}

}  // namespace
}  // namespace tenax::parallel
