// Sums over replicas whose connections are cut and made again.
#include "tests/comm/ftar/cut_transport.hpp"
#include "tests/comm/ftar/ftar_ranks.hpp"
#include "tests/comm/ftar/silent_way.hpp"

namespace tenax::comm {
namespace {

/// At any byte of any message, and while another connection is being made.
TEST(FtarReplacement, of_connections_that_are_cut_adds_nothing_twice_and_loses_nothing) {
  constexpr int kRanks = 3, kCuts = 100;
  for (const int connections : {1, 3}) {
    Cuts cuts;
    FtarRanks replicas(kRanks, [&](int i) {
      return std::make_unique<CutTransport>(
          create_transport(
              {.kind = TransportKind::tcp, .interfaces = {"lo"}, .deadline_s = 20, .secret = one_job()}),
          i, cuts);
    });
    std::atomic<bool> is_over{false};
    std::thread cutting([&] {
      std::mt19937 random(static_cast<std::uint32_t>(connections));
      const Deadline latest = soon();
      while (cuts.made() < kRanks * connections && !latest.expired())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // accepted
      for (int cut = 0; cut < kCuts; ++cut) {
        cuts.cut_one(random);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 10000));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));  // replicas stay until all is replaced
      is_over = true;
    });
    expect_sums_until(replicas,
                      {.chunk_bytes = 4096,
                       .chunks_in_flight = 3,
                       .connections = connections,
                       .deadline_s = 20,
                       .memory = {}},
                      false, [&](std::int64_t) { return is_over.load(); });
    cutting.join();
    EXPECT_GT(cuts.made(), kRanks * connections + kCuts / 10) << "too few were replaced";
  }
}

/// TCP would notice only when the neighbours have given each other up.
TEST(FtarReplacement, of_connections_that_are_silent_costs_no_replica_that_has_another_way) {
  constexpr int kRanks = 3;
  for (const int connections : {1, 2}) {
    std::atomic<bool> is_silent{false};
    std::atomic<int> others{0};
    FtarRanks replicas(kRanks, [&](int) {
      return std::make_unique<SilentWayTransport>(create_transport({.kind = TransportKind::tcp,
                                                                    .interfaces = {"127.0.0.1"},
                                                                    .deadline_s = 20,
                                                                    .secret = one_job()}),
                                                  is_silent, others);
    });
    expect_sums_until(replicas,
                      {.chunk_bytes = 4096,
                       .chunks_in_flight = 3,
                       .connections = connections,
                       .deadline_s = 20,
                       .alive_s = 0.05,
                       .dead_s = 4,
                       .memory = {}},
                      false, [&](std::int64_t step) {
                        if (step == 10) is_silent = true;
                        return step == 20;
                      });
    EXPECT_GE(others, kRanks * connections);
  }
}

}  // namespace
}  // namespace tenax::comm
