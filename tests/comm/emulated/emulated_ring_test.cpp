#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <numeric>
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

void run_ring(LocalNetwork& network, const std::function<void(RingRank)>& body, double deadline_s = 20) {
  const int size = static_cast<int>(network.peers().size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const auto device = kernels::create_emulated_device({});
      const auto stream = device->create_stream();
      const auto make_links = [&](const std::vector<int>& neighbours) {
        return create_emulated_direct_endpoint("data", network.peers(), rank, neighbours,
                                               network.transport(rank), *device,
                                               {.depth = 1000, .deadline_s = deadline_s});
      };
      const auto ring = create_emulated_ring_communicator("data", rank, size, make_links, *device,
                                                          {.deadline_s = deadline_s});
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

/// Both directions are one edge.
using Edges = std::set<std::pair<int, int>>;

Edges edges_of(const std::vector<int>& order) {
  Edges edges;
  for (std::size_t i = 0; i < order.size(); ++i)
    edges.insert(std::minmax(order[i], order[(i + 1) % order.size()]));
  return edges;
}

/// The links that carry messages, while `watched`.
struct UsedEdges {
  std::mutex mutex;
  std::atomic<bool> watched = false;
  Edges edges;
  OnSend on_send() {
    return [this](int from, int to, const std::string&, const MessageHeader&) {
      if (!watched) return;
      const std::lock_guard lock(mutex);
      edges.insert(std::minmax(from, to));
    };
  }
};

std::vector<int> first_order(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Collectives before, in `order`, and back in the first one. Returns the links used in between.
Edges edges_used_in(const std::vector<int>& order) {
  const auto ranks = static_cast<int>(order.size());
  UsedEdges used;
  LocalNetwork network(ranks, used.on_send());
  std::barrier meeting(ranks);
  run_ring(network, [&](const RingRank& rank) {
    const Tensor tensor{nullptr, DType::f32, {4000}};
    const auto reduce = [&] {
      rank.ring.start_reduce_scatter(rank.stream, tensor)->wait(Deadline::after_s(20));
      rank.ring.all_reduce(rank.stream, tensor, ReduceOp::sum);
      meeting.arrive_and_wait();
    };
    EXPECT_EQ(rank.ring.ring_order(), first_order(ranks));
    reduce();
    rank.ring.prepare_ring(order)->adopt();
    EXPECT_EQ(rank.ring.ring_order(), order);
    used.watched = true;
    reduce();
    used.watched = false;
    rank.ring.prepare_ring(first_order(ranks))->adopt();
    reduce();
  });
  return used.edges;
}

TEST(EmulatedRing, in_another_order_uses_its_links_alone_and_finds_back) {
  std::vector<int> order = first_order(4);
  do {
    EXPECT_EQ(edges_used_in(order), edges_of(order)) << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const std::vector<int>& larger : {std::vector{0, 2, 4, 1, 3}, {0, 2, 1, 3, 4, 5, 6, 7}})
    EXPECT_EQ(edges_used_in(larger), edges_of(larger)) << testing::PrintToString(larger);
}

TEST(EmulatedRing, in_another_order_does_not_wait_for_the_slow_link_it_avoids) {
  constexpr double kSlow_s = 0.2;
  for (const int ranks : {4, 5, 8}) {
    LocalNetwork network(ranks, [](int from, int to, const std::string&, const MessageHeader&) {
      if (from + to == 1) kernels::sleep_until_s(kernels::steady_now_s() + kSlow_s);  // ranks 0 and 1
    });
    std::vector<int> order = first_order(ranks);
    std::swap(order[1], order[2]);
    std::mutex mutex;
    double last_s = 0, first_s = 1e30;
    run_ring(network, [&](const RingRank& rank) {
      rank.ring.prepare_ring(order)->adopt();
      const double begin_s = rank.mark_s();
      rank.ring.all_reduce(rank.stream, {nullptr, DType::f32, {4000}}, ReduceOp::sum);
      const std::lock_guard lock(mutex);
      first_s = std::min(first_s, begin_s);
      last_s = std::max(last_s, rank.mark_s());
    });
    EXPECT_LT(last_s - first_s, 2 * (ranks - 1) * kSlow_s) << ranks << " ranks";
  }
}

TEST(EmulatedRing, stays_in_its_order_where_nobody_adopts_another) {
  LocalNetwork network(4);
  run_ring(network, [&](const RingRank& rank) {
    for (int time = 0; time < 2; ++time) {
      EXPECT_NE(rank.ring.prepare_ring({0, 2, 1, 3}), nullptr);
      EXPECT_EQ(rank.ring.ring_order(), first_order(4));
      EXPECT_EQ(rank.ring.link((rank.ring.rank() + 2) % 4), nullptr);
      rank.ring.all_reduce(rank.stream, {nullptr, DType::f32, {4000}}, ReduceOp::sum);
    }
    rank.ring.prepare_ring({0, 2, 1, 3})->adopt();
    rank.ring.all_reduce(rank.stream, {nullptr, DType::f32, {4000}}, ReduceOp::sum);
  });
}

TEST(EmulatedRing, lends_the_links_of_all_its_orders) {
  LocalNetwork network(4);
  run_ring(network, [&](const RingRank& rank) {
    rank.ring.prepare_ring({0, 2, 1, 3})->adopt();
    for (int peer = 0; peer < 4; ++peer) {
      const bool never_met = peer == rank.ring.rank();
      EXPECT_EQ(rank.ring.link(peer) == nullptr, never_met) << rank.ring.rank() << " to " << peer;
    }
  });
}

TEST(EmulatedRing, says_who_does_not_come_when_the_order_changes) {
  constexpr double kShort_s = 2;
  LocalNetwork network(4);
  std::atomic<int> refused = 0;
  run_ring(
      network,
      [&](const RingRank& rank) {
        if (rank.ring.rank() == 0) return;  // the lower end of its link to 2
        try {
          rank.ring.prepare_ring({0, 2, 1, 3})->adopt();
        } catch (const kernels::Error& error) {
          EXPECT_EQ(error.scope(), kernels::Scope::link);
          EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
          ++refused;
        }
      },
      kShort_s);
  EXPECT_EQ(refused, 1) << "rank 2 alone needs rank 0";
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
