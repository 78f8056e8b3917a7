// Messages between devices apart from the host, on ranks that are threads and devices that are stand-ins.
#include "comm/staged/staged.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "tests/comm/device_values.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using Values = DeviceValues<float>;

Deadline soon() { return Deadline::after_s(30); }

std::vector<float> filled(std::size_t floats, int value) {
  return std::vector<float>(floats, static_cast<float>(value));
}

struct Rank {
  World& world;
  kernels::Device& device;
  kernels::Stream& stream;
  Endpoint& endpoint;

  int rank() const { return world.rank(); }
  Link& link(int peer) const { return endpoint.link(peer); }
  std::unique_ptr<Values> values(std::size_t floats, int value) const {
    return std::make_unique<Values>(device, stream, filled(floats, value));
  }
};

void run(int ranks, const std::function<void(const Rank&)>& body, double deadline_s = 30) {
  run_ranks(ranks, deadline_s, [&](World& world) {
    const auto device =
        kernels::test::create_stand_in({.jitter_us = 300, .seed = static_cast<std::uint64_t>(world.rank())});
    const auto stream = device->create_stream();
    const auto endpoint =
        create_staged_endpoint(world.split_endpoint(0, world.rank()), *device, {deadline_s});
    body({world, *device, *stream, *endpoint});
  });
}

TEST(StagedEndpoint,
     a_message_leaves_after_what_its_stream_was_given_and_comes_before_what_is_ordered_after) {
  run(2, [](const Rank& rank) {
    for (int round = 0; round < 10; ++round) {
      const auto values = rank.values(5000, rank.rank() == 0 ? round : -1);
      if (rank.rank() == 0) {
        rank.link(1).send(rank.stream, values->tensor(), 3)->wait(soon());
        continue;
      }
      const TransferPtr receive = rank.link(0).receive(rank.stream, values->tensor(), 3);
      receive->order_before(rank.stream, soon());
      values->fetch(rank.stream);
      EXPECT_EQ(values->values(rank.stream), filled(5000, round));
    }
  });
}

TEST(StagedEndpoint, messages_of_both_directions_and_several_tags_are_under_way_at_once) {
  constexpr int kMessages = 12;
  run(2, [](const Rank& rank) {
    std::vector<std::unique_ptr<Values>> out, in;
    std::vector<TransferPtr> sends, receives;
    Link& link = rank.link(1 - rank.rank());
    for (int i = 0; i < kMessages; ++i) {
      in.push_back(rank.values(1000 + static_cast<std::size_t>(i), -1));
      receives.push_back(link.receive(rank.stream, in.back()->tensor(), i % 4));
      out.push_back(rank.values(1000 + static_cast<std::size_t>(i), 100 * rank.rank() + i));
      sends.push_back(link.send(rank.stream, out.back()->tensor(), i % 4));
    }
    for (std::size_t i = kMessages; i-- > 0;) receives[i]->order_before(rank.stream, soon());
    for (std::size_t i = 0; i < kMessages; ++i) in[i]->fetch(rank.stream);
    for (int i = 0; i < kMessages; ++i)
      EXPECT_EQ(in[static_cast<std::size_t>(i)]->values(rank.stream),
                filled(1000 + static_cast<std::size_t>(i), 100 * (1 - rank.rank()) + i));
    for (const TransferPtr& send : sends) send->wait(soon());
    for (const TransferPtr& receive : receives) receive->wait(soon());
  });
}

TEST(StagedEndpoint, a_tensor_may_be_written_again_once_its_send_is_done) {
  run(2, [](const Rank& rank) {
    const auto values = rank.values(3000, 0);
    for (int round = 1; round < 20; ++round) {
      if (rank.rank() == 0) {
        const Values next(rank.device, rank.stream, filled(3000, round));
        rank.device.kernels().copy(rank.stream, next.tensor(), values->tensor());
        rank.link(1).send(rank.stream, values->tensor(), 0)->wait(soon());
        rank.device.kernels().zero(rank.stream, values->tensor());
      } else {
        rank.link(0).receive(rank.stream, values->tensor(), 0)->order_before(rank.stream, soon());
        values->fetch(rank.stream);
        EXPECT_EQ(values->values(rank.stream), filled(3000, round));
      }
    }
    rank.stream.synchronize(soon());
  });
}

// Rank 0 goes into a collective with rank 2 right after its send; rank 2 comes only when rank 1 has passed it on.
TEST(StagedEndpoint, a_rank_that_blocks_in_a_collective_holds_no_message_back) {
  run(3, [](const Rank& rank) {
    const auto pair = rank.world.split_communicator("pair", rank.rank() % 2, rank.rank(), rank.device);
    const auto values = rank.values(2000, 7), sum = rank.values(10, 1);
    std::vector<TransferPtr> transfers;
    if (rank.rank() > 0)
      rank.link(rank.rank() - 1).receive(rank.stream, values->tensor(), 1)->order_before(rank.stream, soon());
    if (rank.rank() < 2)
      transfers.push_back(rank.link(rank.rank() + 1).send(rank.stream, values->tensor(), 1));
    if (rank.rank() != 1) pair->all_reduce(rank.stream, sum->tensor(), ReduceOp::sum);
    sum->fetch(rank.stream);
    EXPECT_EQ(sum->values(rank.stream), filled(10, rank.rank() == 1 ? 1 : 2));
    for (const TransferPtr& transfer : transfers) transfer->wait(soon());
  });
}

TEST(StagedEndpoint, a_receive_without_a_sender_ends_with_an_error_that_names_it) {
  run(2, [](const Rank& rank) {
    if (rank.rank() != 1) return;
    const auto values = rank.values(4, 0);
    try {
      rank.link(0).receive(rank.stream, values->tensor(), 3)->wait(Deadline::after_s(0.1));
      ADD_FAILURE() << "received what nobody sent";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::link);
      EXPECT_NE(std::string(error.what()).find("for rank 0"), std::string::npos) << error.what();
    }
    rank.stream.synchronize(soon());
  });
}

TEST(StagedEndpoint, a_send_that_its_device_does_not_get_to_ends_with_an_error) {
  run(
      2,
      [](const Rank& rank) {
        if (rank.rank() != 0) return;
        const auto values = rank.values(4, 0);
        const auto flag = rank.device.create_flag();
        rank.stream.wait(*flag, 1);
        try {
          const TransferPtr send = rank.link(1).send(rank.stream, values->tensor(), 0);
          // Somebody has to let the stream go before the send's memory does.
          const std::unique_ptr<kernels::Flag, void (*)(kernels::Flag*)> release(
              flag.get(), [](kernels::Flag* held) { held->set(1); });
          send->wait(Deadline::after_s(0.3));
          ADD_FAILURE() << "sent what was not there";
        } catch (const kernels::Error& error) {
          EXPECT_NE(std::string(error.what()).find("its own device"), std::string::npos) << error.what();
        }
        rank.stream.synchronize(soon());
      },
      1);
}

TEST(StagedEndpoint, a_receive_that_is_given_up_writes_nothing_any_more) {
  run(2, [](const Rank& rank) {
    const auto values = rank.values(100, 5 + rank.rank());
    const auto turn = create_control_group(rank.world.split_endpoint(0, rank.rank()), {30});
    TransferPtr transfer;
    if (rank.rank() == 1) {
      transfer = rank.link(0).receive(rank.stream, values->tensor(), 0);
      EXPECT_FALSE(transfer->done());
      transfer->cancel(soon());
      transfer.reset();
    }
    turn->all_gather({});
    if (rank.rank() == 0) transfer = rank.link(1).send(rank.stream, values->tensor(), 0);
    if (transfer) transfer->wait(soon());
    turn->all_gather({});
    values->fetch(rank.stream);
    EXPECT_EQ(values->values(rank.stream), filled(100, 5 + rank.rank()));
  });
}

}  // namespace
}  // namespace tenax::comm
