// Pipeline messages over NCCL, with a fake one in its place.
#include "comm/poll.hpp"
#include "tests/comm/nccl/nccl_ranks.hpp"

namespace tenax::comm {
namespace {

using Values = DeviceValues<float>;

/// A rank of a pipeline.
struct Stage {
  World& world;
  kernels::Device& device;
  kernels::Stream& stream;
  Endpoint& endpoint;
  ControlGroup& turn;

  int rank() const { return world.rank(); }
  Link& link(int peer) const { return endpoint.link(peer); }
  std::unique_ptr<Values> values(std::size_t floats, int value) const {
    return std::make_unique<Values>(device, stream, filled(floats, value));
  }
};

void run_pipeline(int ranks, const std::function<void(const Stage&)>& body, double deadline_s = 30) {
  run_on_devices(ranks, deadline_s, [&](World& world, kernels::Device& device, kernels::Stream& stream) {
    const auto turn = world.control_group();
    std::vector<int> neighbours;
    for (const int peer : {world.rank() - 1, world.rank() + 1})
      if (peer >= 0 && peer < world.size()) neighbours.push_back(peer);
    const auto endpoint =
        create_nccl_endpoint(world.split_endpoint(0, world.rank()), neighbours, device, {deadline_s});
    body({world, device, stream, *endpoint, *turn});
  });
}

TEST(NcclEndpoint, a_message_goes_down_a_pipeline_and_back) {
  for (const int ranks : {2, 3, 5})
    run_pipeline(ranks, [&](const Stage& stage) {
      for (int round = 0; round < 5; ++round) {
        const auto values = stage.values(3000, stage.rank() == 0 ? round : -1);
        const bool is_last = stage.rank() + 1 == ranks;
        std::vector<TransferPtr> sends;
        const auto from = [&](int peer) {
          stage.link(peer).receive(stage.stream, values->tensor(), round)->order_before(stage.stream, soon());
        };
        const auto to = [&](int peer) {
          sends.push_back(stage.link(peer).send(stage.stream, values->tensor(), round));
          sends.back()->wait(soon());
        };
        if (stage.rank() > 0) from(stage.rank() - 1);
        stage.device.kernels().add(stage.stream, values->tensor(), values->tensor());
        if (!is_last) to(stage.rank() + 1);
        if (!is_last) from(stage.rank() + 1);
        if (stage.rank() > 0) to(stage.rank() - 1);
        values->fetch(stage.stream);
        EXPECT_EQ(values->values(stage.stream), filled(3000, round << ranks));
      }
    });
}

TEST(NcclEndpoint, the_ranks_of_a_pipeline_leave_it_without_waiting_for_each_other_in_vain) {
  const Stopwatch stopwatch;
  run_pipeline(4, [](const Stage&) {});
  EXPECT_LT(stopwatch.elapsed_s(), 4);  // what only one rank leaves is given up after 5 s
}

TEST(NcclEndpoint, a_stream_waits_for_a_message_for_which_its_thread_does_not) {
  run_pipeline(2, [](const Stage& stage) {
    const auto values = stage.values(100, stage.rank() == 0 ? 7 : 0);
    TransferPtr transfer;
    if (stage.rank() == 1) {
      transfer = stage.link(0).receive(stage.stream, values->tensor(), 0);
      EXPECT_TRUE(transfer->orders_without_blocking());
      transfer->order_before(stage.stream, soon());
      values->fetch(stage.stream);
      EXPECT_FALSE(transfer->done());
    }
    stage.turn.all_gather({});
    if (stage.rank() == 0) transfer = stage.link(1).send(stage.stream, values->tensor(), 0);
    transfer->wait(soon());
    if (stage.rank() == 0) return;
    EXPECT_EQ(values->values(stage.stream), filled(100, 7));
    EXPECT_TRUE(transfer->timing().arrived_s.has_value());
  });
}

TEST(NcclEndpoint, messages_of_one_direction_do_not_wait_for_the_other) {
  run_pipeline(2, [](const Stage& stage) {
    Link& link = stage.link(1 - stage.rank());
    std::vector<std::unique_ptr<Values>> in, out;
    std::vector<TransferPtr> receives, sends;
    for (int i = 0; i < 4; ++i) in.push_back(stage.values(50, -1));
    for (auto& values : in) receives.push_back(link.receive(stage.stream, values->tensor(), 1));
    for (int i = 0; i < 4; ++i) {
      out.push_back(stage.values(50, 10 * stage.rank() + i));
      sends.push_back(link.send(stage.stream, out.back()->tensor(), 2));
    }
    for (const TransferPtr& send : sends) send->wait(soon());
    for (int i = 0; i < 4; ++i) {
      const auto at = static_cast<std::size_t>(i);
      receives[at]->order_before(stage.stream, soon());
      in[at]->fetch(stage.stream);
      EXPECT_EQ(in[at]->values(stage.stream), filled(50, 10 * (1 - stage.rank()) + i));
    }
  });
}

TEST(NcclEndpoint, a_direction_that_is_given_up_leaves_the_other_one_alone) {
  run_pipeline(
      2,
      [](const Stage& stage) {
        const auto values = stage.values(50, stage.rank()), lost = stage.values(50, 0);
        Link& link = stage.link(1 - stage.rank());
        if (stage.rank() == 1) {
          const TransferPtr receive = link.receive(stage.stream, lost->tensor(), 0);
          receive->cancel(soon());
          expect_error([&] { receive->done(); }, {"given up"});
          expect_error([&] { link.receive(stage.stream, lost->tensor(), 0); }, {"given up"});
        }
        const TransferPtr transfer = stage.rank() == 1 ? link.send(stage.stream, values->tensor(), 0)
                                                       : link.receive(stage.stream, values->tensor(), 0);
        transfer->wait(soon());
        values->fetch(stage.stream);
        EXPECT_EQ(values->values(stage.stream), filled(50, 1));
      },
      kShort_s);
}

TEST(NcclEndpoint, a_transfer_that_is_destroyed_under_way_takes_its_direction_with_it) {
  run_pipeline(
      2,
      [](const Stage& stage) {
        if (stage.rank() == 0) return;
        const auto values = stage.values(50, 0);
        stage.link(0).receive(stage.stream, values->tensor(), 0).reset();
        expect_error([&] { stage.link(0).receive(stage.stream, values->tensor(), 0); },
                     {"receive of 200 bytes (tag 0) from rank 0", "given up"});
        stage.stream.synchronize(soon());
      },
      kShort_s);
}

TEST(NcclEndpoint, nobody_waits_for_an_abort_that_does_not_come_to_its_end) {
  run_pipeline(
      2,
      [](const Stage& stage) {
        if (stage.rank() == 0) return;
        const auto values = stage.values(50, 0);
        const TransferPtr receive = stage.link(0).receive(stage.stream, values->tensor(), 0);
        const fake_nccl::HeldAborts held;
        receive->cancel(soon());
        expect_error([&] { receive->done(); }, {"given up"});
        expect_error([&] { stage.link(0).receive(stage.stream, values->tensor(), 0); }, {"given up"});
        EXPECT_TRUE(held.any());
      },
      kShort_s);
}

TEST(NcclEndpoint, is_lent_what_its_kernels_may_hold_for_as_long_as_it_lives) {
  run_ranks(3, kPatience_s, [](World& world) {
    kernels::test::StandInUse use;
    const auto device = kernels::test::create_stand_in({.use = &use});
    const fake_nccl::OnDevice on_device(*device);
    std::vector<int> neighbours;
    for (const int peer : {world.rank() - 1, world.rank() + 1})
      if (peer >= 0 && peer < world.size()) neighbours.push_back(peer);
    auto endpoint = create_nccl_endpoint(world.split_endpoint(0, world.rank()), neighbours, *device,
                                         {kPatience_s, kPatience_s});
    EXPECT_EQ(use.lent, 8 * static_cast<int>(neighbours.size())) << "four each way";
    endpoint.reset();
    EXPECT_EQ(use.lent, 0);
  });
}

TEST(NcclEndpoint, a_message_that_never_comes_is_named_with_its_sender) {
  run_pipeline(
      2,
      [](const Stage& stage) {
        if (stage.rank() == 0) return;
        const auto values = stage.values(50, 0);
        const TransferPtr receive = stage.link(0).receive(stage.stream, values->tensor(), 6);
        receive->order_before(stage.stream, soon());
        stage.stream.synchronize(soon());
        expect_error([&] { receive->done(); }, {"receive of 200 bytes (tag 6)", "for rank 0", "gave up"});
      },
      kShort_s);
}

TEST(NcclEndpoint, a_receive_may_stand_for_longer_than_the_deadline_while_its_rank_asks_for_it) {
  run_pipeline(
      2,
      [](const Stage& stage) {
        const Stopwatch stopwatch;
        const auto values = stage.values(50, stage.rank());
        if (stage.rank() == 0) {
          std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * kShort_s));
          stage.link(1).send(stage.stream, values->tensor(), 0)->wait(soon());
          return;
        }
        const TransferPtr receive = stage.link(0).receive(stage.stream, values->tensor(), 0);
        EXPECT_TRUE(poll_until([&] { return receive->done(); }, soon()));
        EXPECT_GT(stopwatch.elapsed_s(), kShort_s);
        values->fetch(stage.stream);
        EXPECT_EQ(values->values(stage.stream), filled(50, 0));
      },
      kShort_s);
}

}  // namespace
}  // namespace tenax::comm
