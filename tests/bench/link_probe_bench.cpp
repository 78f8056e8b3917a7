// link_probe_bench [MS]: the link tests of a validation in rings of 8, 9, 64 and 65 emulated ranks, which are threads,
// with messages that take MS milliseconds (20). How many rounds, and how long each takes where no thread wakes late: its
// slowest pair's messages in both directions, each as long as the least of its kind, in the emulated device's time. Status 1 where a round is more than 20 % longer
// than the shortest of any group.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "resilience/diagnosis/link_probe.hpp"
#include "resilience/diagnosis/probe_sizes.hpp"
#include "tests/resilience/diagnosis/emulated_groups.hpp"

namespace {

namespace resilience = tenax::resilience;
using resilience::ProbeRound;
using resilience::SentProbe;

constexpr double kLink_gbps = 8;

struct Result {
  std::vector<ProbeRound> rounds;
  std::vector<std::vector<SentProbe>> sent_by_rank;
};

Result probe_ring(int ranks, std::size_t bytes) {
  tenax::comm::LocalNetwork network(ranks);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  Result result{resilience::probe_rounds(tenax::comm::LinkTopology::ring, ranks), {}};
  result.sent_by_rank.resize(all.size());
  std::vector<std::thread> threads;
  for (const int rank : all)
    threads.emplace_back([&, rank] {
      const auto device = tenax::kernels::create_emulated_device({});
      const auto ring = resilience::make_ring(network, "data", all, rank, *device, kLink_gbps);
      resilience::LinkProbe probe(*ring, *device, resilience::kPatience_s);
      result.sent_by_rank[static_cast<std::size_t>(rank)] =
          probe.run(result.rounds, bytes, resilience::kProbeTimes);
    });
  for (std::thread& thread : threads) thread.join();
  return result;
}

/// All messages from one rank to another.
double seconds_of(const Result& result, int from, int to) {
  for (const SentProbe& sent : result.sent_by_rank[static_cast<std::size_t>(from)])
    if (sent.peer == to) return resilience::kProbeTimes * sent.seconds;
  return 0;
}

double seconds_of(const Result& result, const ProbeRound& round) {
  double slowest_s = 0;
  for (const auto& [a, b] : round)
    slowest_s = std::max(slowest_s, seconds_of(result, a, b) + seconds_of(result, b, a));
  return slowest_s;
}

}  // namespace

int main(int argc, char** argv) {
  const double message_s = (argc > 1 ? std::atof(argv[1]) : 20) * 1e-3;
  const auto bytes = static_cast<std::size_t>(kLink_gbps * 1e9 / 8 * message_s);
  double least_s = std::numeric_limits<double>::infinity(), most_s = 0;
  for (const int ranks : {8, 9, 64, 65}) {
    const Result result = probe_ring(ranks, bytes);
    std::printf("%2d ranks, %zu rounds, ms each:", ranks, result.rounds.size());
    for (const ProbeRound& round : result.rounds) {
      const double seconds = seconds_of(result, round);
      std::printf(" %.1f", seconds * 1e3);
      least_s = std::min(least_s, seconds);
      most_s = std::max(most_s, seconds);
    }
    std::printf("\n");
  }
  std::printf("the longest round is %.1f %% longer than the shortest\n", (most_s / least_s - 1) * 100);
  return most_s / least_s <= 1.2 ? 0 : 1;
}
