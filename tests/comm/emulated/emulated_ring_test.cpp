#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "comm/emulated/direct_endpoint.hpp"
#include "kernels/emulated_device.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

struct RingRank {
  kernels::EmulatedDevice& device;
  kernels::Stream& stream;
  Communicator& ring;

  double mark_s() const {
    const auto event = device.create_event();
    stream.record(*event);
    return event->time_s();
  }
};

void run_ring(LocalNetwork& network, const std::function<void(RingRank)>& body) {
  const int size = static_cast<int>(network.peers().size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const auto device = kernels::create_emulated_device({});
      const auto stream = device->create_stream();
      std::set<int> neighbours{(rank + 1) % size, (rank + size - 1) % size};
      neighbours.erase(rank);
      auto endpoint = create_emulated_direct_endpoint("data", network.peers(), rank,
                                                      {neighbours.begin(), neighbours.end()},
                                                      network.transport(rank), *device, {.depth = 1000});
      const auto ring =
          create_emulated_ring_communicator("data", std::move(endpoint), *device, {.deadline_s = 20});
      body({*device, *stream, *ring});
    });
  for (std::thread& thread : threads) thread.join();
}

struct Count {
  std::mutex mutex;
  std::map<int, std::vector<std::uint64_t>> bytes_from;  // rank: of each message
  OnSend on_send() {
    return [this](int from, int, const std::string&, const MessageHeader& header) {
      const std::lock_guard lock(mutex);
      bytes_from[from].push_back(header.bytes);
    };
  }
};

TEST(EmulatedRing, a_collective_sends_a_rings_steps_of_equal_chunks) {
  Count count;
  LocalNetwork network(4, count.on_send());
  const Tensor tensor{nullptr, DType::f32, {4000}};
  run_ring(network, [&](const RingRank& rank) {
    rank.ring.start_reduce_scatter(rank.stream, tensor)->wait(Deadline::after_s(20));
    rank.ring.start_all_gather(rank.stream, tensor)->wait(Deadline::after_s(20));
    rank.ring.all_reduce(rank.stream, tensor, ReduceOp::sum);
  });
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(count.bytes_from[rank], std::vector<std::uint64_t>(3 + 3 + 6, 4000)) << rank;
}

TEST(EmulatedRing, the_slowest_link_decides_on_every_rank) {
  LocalNetwork network(3, [](int from, int to, const std::string&, const MessageHeader&) {
    if (from + to == 1) kernels::sleep_until_s(kernels::steady_now_s() + 0.02);  // ranks 0 and 1
  });
  const Tensor tensor{nullptr, DType::f32, {3000}};
  std::mutex mutex;
  double last_s = 0, first_s = 1e30;
  run_ring(network, [&](const RingRank& rank) {
    const double begin_s = rank.mark_s();
    rank.ring.all_reduce(rank.stream, tensor, ReduceOp::sum);
    const std::lock_guard lock(mutex);
    first_s = std::min(first_s, begin_s);
    last_s = std::max(last_s, rank.mark_s());
  });
  EXPECT_GE(last_s - first_s, 4 * 0.02) << "2 (size - 1) steps, each over the slow link at some rank";
}

TEST(EmulatedRing, collectives_under_way_at_once_do_not_mix) {
  LocalNetwork network(3);
  const Tensor large{nullptr, DType::f32, {3000}}, small{nullptr, DType::f32, {30}};
  run_ring(network, [&](const RingRank& rank) {
    const TransferPtr first = rank.ring.start_reduce_scatter(rank.stream, large);
    const TransferPtr second = rank.ring.start_reduce_scatter(rank.stream, small);
    for (int look = 0; look < 20; ++look) {
      if (second->done()) break;  // whether or not it can be seen already, looking does no harm
      kernels::sleep_until_s(kernels::steady_now_s() + 1e-3);
    }
    first->order_before(rank.stream, Deadline::after_s(20));
    second->order_before(rank.stream, Deadline::after_s(20));
    EXPECT_TRUE(first->done() && second->done());
  });
}

TEST(EmulatedRing, what_follows_starts_when_the_collective_has_ended) {
  LocalNetwork network(2, [](int, int, const std::string&, const MessageHeader&) {
    kernels::sleep_until_s(kernels::steady_now_s() + 0.02);
  });
  const Tensor tensor{nullptr, DType::f32, {100}};
  std::mutex mutex;
  double first_s = 1e30;
  std::vector<double> ends_s;
  run_ring(network, [&](const RingRank& rank) {
    const double begin_s = rank.mark_s();
    const TransferPtr transfer = rank.ring.start_reduce_scatter(rank.stream, tensor);
    EXPECT_EQ(rank.mark_s(), begin_s) << "computation goes on meanwhile";
    transfer->order_before(rank.stream, Deadline::after_s(20));
    const std::lock_guard lock(mutex);
    first_s = std::min(first_s, begin_s);
    ends_s.push_back(rank.mark_s());
  });
  for (const double end_s : ends_s) EXPECT_GE(end_s, first_s + 0.02);
}

TEST(EmulatedRing, lends_its_links_to_the_ranks_before_and_after) {
  LocalNetwork network(4);
  run_ring(network, [&](const RingRank& rank) {
    EXPECT_EQ(rank.ring.topology(), LinkTopology::ring);
    const int me = rank.ring.rank();
    for (int peer = 0; peer < 4; ++peer)
      EXPECT_EQ(rank.ring.link(peer) != nullptr, (peer - me) % 2 != 0) << me << " to " << peer;
  });
}

TEST(EmulatedRing, a_group_of_one_sends_nothing) {
  Count count;
  LocalNetwork network(1, count.on_send());
  run_ring(network, [&](const RingRank& rank) {
    const Tensor tensor{nullptr, DType::f32, {100}};
    EXPECT_TRUE(rank.ring.start_reduce_scatter(rank.stream, tensor)->done());
    rank.ring.all_reduce(rank.stream, tensor, ReduceOp::sum);
  });
  EXPECT_TRUE(count.bytes_from.empty());
}

}  // namespace
}  // namespace tenax::comm
