#include "app/machine/registered_bytes.hpp"

#include <gtest/gtest.h>

#include "app/machine/device_choice.hpp"
#include "app/options.hpp"
#include "kernels/device.hpp"
#include "tests/app/small_deck.hpp"

namespace tenax::app {
namespace {

constexpr std::int64_t kMib = 1 << 20;

std::int64_t bytes_of(int stages, io::TransportKind transport, io::P2p p2p = io::P2p::delegated) {
  io::Deck deck = small_deck(1, stages, 1);
  deck.comm.transport = transport;
  deck.comm.sockets_per_link = 2;
  deck.pipeline.p2p = p2p;
  deck.verbs.ring_kib = 1024;
  const auto device = kernels::create_cpu_device();
  return registered_bytes(deck, plan_layout(deck, 1e11, std::size_t{1} << 40), *device);
}

TEST(RegisteredBytes, are_rings_for_each_delegate_of_either_neighbour_and_direction) {
  EXPECT_EQ(bytes_of(2, io::TransportKind::verbs), 1 * 2 * 2 * 2 * kMib);
  EXPECT_EQ(bytes_of(4, io::TransportKind::verbs), 2 * 2 * 2 * 2 * kMib);
  EXPECT_EQ(bytes_of(4, io::TransportKind::automatic), 2 * 2 * 2 * 2 * kMib);
}

TEST(RegisteredBytes, are_rings_for_each_connection_with_other_replicas) {
  io::Deck deck = small_deck(1, 1, 1);
  deck.comm.transport = io::TransportKind::verbs;
  deck.parallel.replicas = 3;
  deck.replicas.connections = 2;
  deck.verbs.ring_kib = 1024;
  const auto device = kernels::create_cpu_device();
  EXPECT_EQ(registered_bytes(deck, plan_layout(deck, 1e11, std::size_t{1} << 40), *device), 2 * 2 * 2 * kMib);
}

TEST(RegisteredBytes, are_none_where_no_message_can_go_over_rdma) {
  EXPECT_EQ(bytes_of(1, io::TransportKind::verbs), 0);
  EXPECT_EQ(bytes_of(4, io::TransportKind::tcp), 0);
  EXPECT_EQ(bytes_of(4, io::TransportKind::verbs, io::P2p::direct), 0);
}

TEST(RegisteredBytes, are_not_all_that_adapters_lock) {
  io::Deck deck = small_deck(1, 1, 1);
  deck.comm.transport = io::TransportKind::automatic;
  deck.parallel.replicas = 2;
  deck.replicas.connections = 1;
  deck.verbs.ring_kib = 64;
  const auto device = kernels::create_cpu_device();
  const auto layout = plan_layout(deck, 1e11, std::size_t{1} << 40);
  EXPECT_EQ(registered_bytes(deck, layout, *device), 2 * 2 * (64 << 10));
  EXPECT_EQ(locked_bytes(deck, layout, *device), 2 * (2 * (64 << 10) + 64 * 512 + (128 << 10) + 2 * 4096));
  deck.comm.transport = io::TransportKind::tcp;
  EXPECT_EQ(locked_bytes(deck, layout, *device), 0);
}

TEST(RegisteredBytes, must_be_allowed_to_be_locked) {
  EXPECT_EQ(locked_memory_obstacle(kMib, kMib), "");
  EXPECT_EQ(locked_memory_obstacle(kMib, std::nullopt), "");
  EXPECT_EQ(locked_memory_obstacle(8 * kMib, 64 << 10),
            "may lock 0.1 MiB and needs 8.0 MiB: raise \"ulimit -l\" (limits.conf; under Slurm "
            "PropagateResourceLimitsExcept=MEMLOCK), or lower verbs.ring_kib");
}

}  // namespace
}  // namespace tenax::app
