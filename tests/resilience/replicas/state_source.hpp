// Ranks of several replicas in this process, whose state one of them fetches.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/transport/transports.hpp"
#include "resilience/replicas/state_fetch.hpp"
#include "resilience/replicas/state_server.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::resilience {

inline constexpr char kPurpose[] = "state.7.2";
inline constexpr std::int64_t kDone = 42;

/// A rank's state: ranges of odd sizes, each with weights and two moments.
struct RankState {
  RankState(std::vector<std::int64_t> counts, float seed) {
    for (const std::int64_t count : counts) {
      io::StateRange range{.name = "w", .layout = {}, .count = count};
      for (const char* group : {"/model", "/optimizer/exp_avg", "/optimizer/exp_avg_sq"}) {
        memory.emplace_back(static_cast<std::size_t>(count));
        std::iota(memory.back().begin(), memory.back().end(), seed + static_cast<float>(memory.size()));
        range.parts.push_back({group, memory.back().data()});
      }
      ranges.push_back(std::move(range));
    }
  }
  std::vector<std::vector<float>> memory;
  std::vector<io::StateRange> ranges;
};

inline const std::vector<std::int64_t> kCounts = {3, 1000003, 0, 17, 700001};

/// A rank that serves its state to one that fetches, or fetches itself.
struct Source {
  explicit Source(int rank)
      : Source(rank, comm::create_transport({.kind = comm::TransportKind::tcp,
                                             .interfaces = {"lo"},
                                             .deadline_s = 20,
                                             .secret = comm::one_job()})) {}
  Source(int rank, std::unique_ptr<comm::Transport> over)
      : transport(std::move(over)),
        peer{rank, "rank " + std::to_string(rank) + " (here)", transport->addresses()} {}
  RankState state{kCounts, 5};
  StateSlices slices{state.ranges};
  std::unique_ptr<comm::Transport> transport;
  comm::Peer peer;
  StepPoints nobody;
  StateServer server{slices, *transport, nobody, 20};
};

/// Until all has come, or no source gives any more.
inline void wait_for(const StateFetch& fetch) {
  const auto deadline = kernels::Deadline::after_s(20);
  while (!fetch.is_complete() && !fetch.has_failed() && !deadline.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Nothing that it holds is a state's.
inline void clear(RankState& state) {
  for (auto& memory : state.memory) std::fill(memory.begin(), memory.end(), -1.0F);
}

}  // namespace tenax::resilience
