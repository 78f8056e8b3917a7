// Replica::order_rings on the emulated device: ranks are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "kernels/emulated_device.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "tests/comm/emulated/emulated_network.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::parallel {
namespace {

constexpr double kPatience_s = 60;
constexpr int kTensor = 2, kData = 4;

/// Pairs of world ranks.
using Edges = std::set<std::pair<int, int>>;

Layout small_layout() {
  LayoutRequest request;
  request.model = {.num_layers = 1,
                   .hidden_size = 64,
                   .num_attention_heads = kTensor,
                   .ffn_hidden_size = 256,
                   .seq_length = 1,
                   .vocab_size = 256};
  request.grid = {.tensor = kTensor, .pipeline = 1, .data = kData};
  request.microbatch = {1, 1};
  request.policy = &policy_of_name("gpipe");
  request.emulated = {.costs = PipelineCosts::uniform(1, {1e-3, 1e-3, 1e-3}), .gradient_bytes = 4000};
  return plan_layout(request, 0, std::size_t{0});
}

PipelineContext context_of(comm::World& world, comm::LocalNetwork& network, kernels::Device& device) {
  PipelineOptions options;
  options.deadline_s = kPatience_s;
  return {.options = options,
          .world = world,
          .device = device,
          .transport = &network.transport(world.rank()),
          .peers = network.peers()};
}

/// The links that a sum over the data groups uses once all ranks have done as `orders` says.
Edges edges_of_sums(const std::vector<std::vector<int>>& orders) {
  const Layout layout = small_layout();
  std::mutex mutex;
  std::atomic<bool> is_watched = false;
  Edges edges;
  comm::LocalNetwork network(kTensor * kData,
                             [&](int from, int to, const std::string&, const comm::MessageHeader&) {
                               const std::lock_guard lock(mutex);
                               if (is_watched) edges.insert(std::minmax(from, to));
                             });
  comm::run_ranks(kTensor * kData, kPatience_s, [&](comm::World& world) {
    const auto device = kernels::create_emulated_device({});
    EmulatedReplica replica(layout, ProcessGrid(layout.grid), context_of(world, network, *device), *device,
                            {.load = {.costs = {}, .gradient_bytes = 4000}});
    replica.reduce();
    EXPECT_TRUE(replica.order_rings(orders));
    replica.control().all_gather({});
    is_watched = true;
    replica.reduce();
    replica.gather();
    replica.control().all_gather({});
    is_watched = false;
  });
  return edges;
}

TEST(OrderRings, joins_each_data_group_in_its_own_order) {
  // The group of tensor rank 0 is 0, 2, 4, 6; that of tensor rank 1 is 1, 3, 5, 7.
  const Edges first = {{0, 2}, {2, 4}, {4, 6}, {0, 6}}, other = {{1, 3}, {3, 5}, {5, 7}, {1, 7}};
  Edges expected = {{0, 4}, {2, 4}, {2, 6}, {0, 6}};
  expected.insert(other.begin(), other.end());
  EXPECT_EQ(edges_of_sums({{0, 2, 1, 3}, {}}), expected);
  Edges unchanged = first;
  unchanged.insert(other.begin(), other.end());
  EXPECT_EQ(edges_of_sums({{}, {}}), unchanged);
}

/// Of a rank that finds no way to another one.
class BrokenPath final : public comm::Transport {
 public:
  BrokenPath(comm::Transport& inner, int other) : inner_(inner), other_(other) {}
  std::vector<std::string> addresses() const override { return inner_.addresses(); }
  std::unique_ptr<comm::Connection> connect(const comm::Peer& peer, const std::string& address,
                                            const std::string& purpose, kernels::Deadline deadline) override {
    if (peer.rank == other_) throw kernels::Error(kernels::Scope::rank, "no way");
    return inner_.connect(peer, address, purpose, deadline);
  }
  std::unique_ptr<comm::Connection> accept(const comm::Peer& peer, const std::string& purpose,
                                           kernels::Deadline deadline) override {
    if (peer.rank == other_) throw kernels::Error(kernels::Scope::rank, "no way");
    return inner_.accept(peer, purpose, deadline);
  }

 private:
  comm::Transport& inner_;
  const int other_;
};

// In the group of tensor rank 0 two ranks do not connect; in the other one all do, and wait for them.
TEST(OrderRings, leaves_all_rings_as_they_were_where_a_rank_fails) {
  const Layout layout = small_layout();
  comm::LocalNetwork network(kTensor * kData);
  comm::run_ranks(kTensor * kData, kPatience_s, [&](comm::World& world) {
    const auto device = kernels::create_emulated_device({});
    PipelineContext context = context_of(world, network, *device);
    BrokenPath path(*context.transport, world.rank() == 0 ? 4 : world.rank() == 4 ? 0 : -1);
    context.transport = &path;
    EmulatedReplica replica(layout, ProcessGrid(layout.grid), context, *device,
                            {.load = {.costs = {}, .gradient_bytes = 4000}});
    EXPECT_THROW(replica.order_rings({{0, 2, 1, 3}, {0, 2, 1, 3}}), comm::AgreedError);
    EXPECT_EQ(replica.group(GroupKind::data)->ring_order(), (std::vector<int>{0, 1, 2, 3}));
    replica.reduce();
    replica.gather();
  });
}

TEST(OrderRings, says_that_a_group_of_one_has_no_ring) {
  Layout layout = small_layout();
  layout.grid = {.tensor = 1, .pipeline = 1, .data = 1};
  comm::LocalNetwork network(1);
  comm::run_ranks(1, kPatience_s, [&](comm::World& world) {
    const auto device = kernels::create_emulated_device({});
    EmulatedReplica replica(layout, ProcessGrid(layout.grid), context_of(world, network, *device), *device,
                            {});
    EXPECT_FALSE(replica.order_rings({{}}));
  });
}

}  // namespace
}  // namespace tenax::parallel
