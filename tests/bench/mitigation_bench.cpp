// What mitigation takes to decide, in large runs.
//
//   mitigation_bench
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "resilience/mitigation/microbatch_shares.hpp"
#include "resilience/mitigation/ring_order.hpp"
#include "resilience/mitigation/topology_swap.hpp"
#include "tests/bench/median.hpp"
#include "tests/resilience/mitigation/made_up_grid.hpp"

namespace tenax::bench {
namespace {

constexpr int kRounds = 21;

template <class Work>
double median_ms(Work work) {
  return 1e3 * median_of(kRounds, [&] {
           const auto begin = std::chrono::steady_clock::now();
           work();
           return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
         });
}

std::vector<int> counted(int size) {
  std::vector<int> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Groups that all differ: filling the pipeline and a microbatch take each their own time.
void time_shares(int groups, int microbatches) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> factor(1, 2.5);
  long asked = 0;
  std::vector<resilience::PipelineTime> kinds;
  for (int i = 0; i < groups; ++i)
    kinds.emplace_back([fill_s = 0.3 * factor(random), microbatch_s = 0.1 * factor(random), &asked](int m) {
      return ++asked, fill_s + microbatch_s * m;
    });
  resilience::MicrobatchShares shares;
  const double ms =
      median_ms([&] { shares = resilience::share_microbatches(kinds, counted(groups), microbatches); });
  std::printf(
      "shares of %d microbatches among %d different groups: %.3f ms, %ld times asked (slowest %.3f s)\n",
      microbatches, groups, ms, asked / kRounds, shares.slowest_s);
}

void time_ring(int members) {
  const std::vector<resilience::RankPair> slow = {{0, 1}, {1, 2}, {members / 2, members / 2 + 1}};
  bool found = false;
  const double ms =
      median_ms([&] { found = resilience::ring_order_without(slow, counted(members)).has_value(); });
  std::printf("a ring of %d members without %zu slow links: %.3f ms (%s)\n", members, slow.size(), ms,
              found ? "found" : "none");
}

/// Every 85th group is slow, and the links of every 300th one to the next.
void time_swap(parallel::GridShape shape) {
  resilience::MadeUpGrid grid{.shape = shape};
  const int groups = shape.data * shape.pipeline;
  for (int group = 0; group < groups; group += 85) grid.slow_groups[group] = 1.5;
  for (int group = 1; group + 1 < groups; group += 300) grid.slow_links[{group, group + 1}] = 4;
  long asked = 0;
  resilience::GridTimes times = grid.times();
  times.pipeline_s = [&](std::span<const int> of) { return ++asked, grid.pipeline_s(of); };
  const resilience::PlacementTimes launch(shape, times, counted(groups), grid.suspects());
  double after_s = launch.score().iteration_s;
  asked = 0;
  const double ms = median_ms([&] {
    const auto found = resilience::find_topology_swap(launch, grid.suspects(), [](int, int) { return true; });
    if (found) after_s = found->iteration_s;
  });
  std::printf(
      "a swap among data %d x pipeline %d, %zu suspects: %.1f ms, %ld pipelines asked for, %.2f -> %.2f s\n",
      shape.data, shape.pipeline, grid.suspects().size(), ms, asked / kRounds, launch.score().iteration_s,
      after_s);
}

}  // namespace
}  // namespace tenax::bench

int main() {
  using namespace tenax::bench;
  for (const int groups : {16, 64, 512}) time_shares(groups, 100'000);
  time_ring(512);
  time_swap({.pipeline = 8, .data = 128});
  time_swap({.pipeline = 32, .data = 32});
}
