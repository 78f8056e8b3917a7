// Sums over replicas, over RDMA on fake devices, whatever becomes of its ports and paths.
#include "comm/verbs.hpp"
#include "tests/comm/ftar/ftar_ranks.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm {
namespace {

using fake_verbs::FakePort;

/// Each replica has a device of two ports.
class VerbsFtar : public ::testing::Test {
 protected:
  static std::string device_of(int replica) { return "fake" + std::to_string(replica); }
  /// automatic: RDMA and TCP.
  FtarRanks replicas(int count, TransportKind kind) {
    FtarRanks made(count, [&](int i) {
      host.add_device(device_of(i), {FakePort{}, FakePort{}});
      VerbsSettings settings;
      settings.ports.patterns = {{device_of(i)}};
      settings.has_other_ways = kind == TransportKind::automatic;
      settings.silence_s = 0.3;
      ranks_.push_back(create_verbs_rank(settings));
      return create_transport({.kind = kind,
                               .interfaces = {"127.0.0.1"},
                               .deadline_s = 20,
                               .secret = one_job(),
                               .create_verbs_listener = ranks_.back()->listener()});
    });
    made.forget_addresses("shm:");
    return made;
  }
  static FtarOptions options(WireType wire = WireType::fp32) {
    return {.chunk_bytes = 4096,
            .chunks_in_flight = 3,
            .wire = wire,
            .deadline_s = 30,
            .alive_s = 0.05,
            .dead_s = 10,
            .memory = {}};
  }
  void set_port(int replica, int number, ibv_port_state state) {
    FakePort port;
    port.state = state;
    host.set_port(device_of(replica), number, port);
    host.raise(device_of(replica), state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR,
               number);
  }

  fake_verbs::Host host;

 private:
  std::vector<std::unique_ptr<VerbsRank>> ranks_;
};

TEST_F(VerbsFtar, sums_are_those_over_tcp_bit_for_bit) {
  for (const int count : {2, 4}) {
    FtarRanks ranks = replicas(count, TransportKind::verbs);
    for (const WireType wire : {WireType::fp32, WireType::bf16})
      for (const bool is_registered : {true, false})
        expect_sums_until(ranks, options(wire), is_registered, [](std::int64_t step) { return step == 1; });
  }
}

/// Three connections to each neighbour, of which one breaks at a time: by what a port or a peer says, by silence, by
/// writes that are late or never come.
TEST_F(VerbsFtar, a_path_that_fails_in_mid_bucket_costs_no_replica_and_no_bit) {
  for (const TransportKind kind : {TransportKind::verbs, TransportKind::automatic}) {
    constexpr int kRanks = 3, kFaults = 6;
    FtarRanks ranks = replicas(kRanks, kind);
    FtarOptions several = options();
    several.connections = 3;
    std::atomic<bool> has_begun{false}, is_over{false};
    std::thread failing([&] {
      const Deadline connected = soon();
      while (!has_begun && !connected.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::mt19937 random(static_cast<std::uint32_t>(kind));
      for (int fault = 0; fault < kFaults; ++fault) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 100));
        const auto from = static_cast<int>(random() % kRanks);
        const int to = (from + 1 + static_cast<int>(random() % 2)) % kRanks;
        const auto number = 1 + static_cast<int>(random() % 2);
        if (fault % 3 == 0) {
          host.fail_next(device_of(from), IBV_WC_RETRY_EXC_ERR);
        } else if (fault % 3 == 1) {
          set_port(from, number, IBV_PORT_DOWN);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          set_port(from, number, IBV_PORT_ACTIVE);
        } else {
          host.set_path(device_of(from), device_of(to), {.delay_s = 0.02, .is_lossy = random() % 2 == 0});
          std::this_thread::sleep_for(std::chrono::milliseconds(random() % 800));
          host.set_path(device_of(from), device_of(to), {});
        }
      }
      std::this_thread::sleep_for(std::chrono::seconds(1));  // replicas stay until what failed is replaced
      is_over = true;
    });
    expect_sums_until(ranks, several, true, [&](std::int64_t) {
      has_begun = true;
      return is_over.load();
    });
    failing.join();
  }
}

/// What the connections of an epoch begin with they keep until it ends.
TEST_F(VerbsFtar, an_epoch_waits_for_rdma_over_a_slow_path_and_not_for_one_that_carries_nothing) {
  constexpr int kConnections = 8;
  FtarRanks ranks = replicas(2, TransportKind::automatic);
  const FtarRing ring = ranks.ring(1, 0, ranks.all());
  const std::atomic<bool> is_over{false};
  const RingConnector connector(ring, ranks.transport(0), is_over);
  const auto kind_of = [&](int number) { return connector.connect_after(number, soon()).get()->address(); };
  for (const int from : {0, 1}) host.set_path(device_of(from), device_of(1 - from), {.delay_s = 0.1});
  EXPECT_TRUE(kind_of(0).starts_with("verbs:"));
  for (const int from : {0, 1}) host.set_path(device_of(from), device_of(1 - from), {.is_lossy = true});
  const double began_s = kernels::steady_now_s();
  for (int number = 1; number <= kConnections; ++number) EXPECT_TRUE(kind_of(number).starts_with("tcp:"));
  EXPECT_LT(kernels::steady_now_s() - began_s, kConnections) << "each of them waited in vain";
}

}  // namespace
}  // namespace tenax::comm
