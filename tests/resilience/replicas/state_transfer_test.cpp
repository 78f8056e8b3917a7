// State that a replica fetches from the equal ranks of others.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "comm/transport/transports.hpp"
#include "resilience/replicas/state_fetch.hpp"
#include "resilience/replicas/state_server.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::resilience {
namespace {

constexpr char kPurpose[] = "state.7.2";
constexpr std::int64_t kDone = 42;

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

const std::vector<std::int64_t> kCounts = {3, 1000003, 0, 17, 700001};

/// A healthy rank that serves one that fetches.
struct Source {
  explicit Source(int rank)
      : transport(comm::create_transport({.kind = comm::TransportKind::tcp,
                                          .interfaces = {"lo"},
                                          .deadline_s = 20,
                                          .secret = comm::one_job()})),
        peer{rank, "rank " + std::to_string(rank) + " (here)", transport->addresses()} {}
  RankState state{kCounts, 5};
  StateSlices slices{state.ranges};
  std::unique_ptr<comm::Transport> transport;
  comm::Peer peer;
  StepPoints nobody;
  StateServer server{slices, *transport, nobody, 20};
};

class StateTransfer : public ::testing::Test {
 protected:
  StateTransfer() {
    for (Source& source : sources_) source.server.open(kDone);
  }
  std::unique_ptr<StateFetch> fetch(std::int64_t done = kDone) {
    for (Source& source : sources_) source.server.serve(joiner_.peer, kPurpose);
    return std::make_unique<StateFetch>(joiner_.slices, *joiner_.transport,
                                        std::vector{sources_[0].peer, sources_[1].peer}, joiner_.nobody,
                                        StateFetch::Options{done, kPurpose, 20});
  }
  static void wait(const StateFetch& fetch) {
    const auto deadline = kernels::Deadline::after_s(20);
    while (!fetch.is_complete() && !fetch.has_failed() && !deadline.expired())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void clear() {
    for (auto& memory : joiner_.state.memory) std::fill(memory.begin(), memory.end(), -1.0F);
  }
  Source sources_[2] = {Source(0), Source(1)};
  Source joiner_{2};
};

TEST_F(StateTransfer, brings_all_of_it_from_several_sources) {
  clear();
  const auto fetch = this->fetch();
  wait(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  EXPECT_EQ(joiner_.state.memory, sources_[0].state.memory);
  EXPECT_EQ(fetch->bytes(), joiner_.slices.bytes());
  EXPECT_GE(sources_[0].server.served_bytes() + sources_[1].server.served_bytes() - joiner_.slices.bytes(),
            static_cast<std::uint64_t>(joiner_.slices.count()) * 8);  // checksums
}

TEST_F(StateTransfer, goes_on_with_another_source_when_one_dies) {
  clear();
  const auto fetch = this->fetch();
  sources_[0].server.drop_all();
  wait(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  EXPECT_EQ(joiner_.state.memory, sources_[1].state.memory);
}

TEST_F(StateTransfer, refuses_another_state_than_the_one_that_is_wanted) {
  const auto fetch = this->fetch(kDone + 1);
  wait(*fetch);
  EXPECT_TRUE(fetch->has_failed());
  EXPECT_FALSE(fetch->is_complete());
}

TEST_F(StateTransfer, gives_nothing_once_an_update_may_begin) {
  for (Source& source : sources_) source.server.close();
  const auto fetch = this->fetch();
  wait(*fetch);
  EXPECT_TRUE(fetch->has_failed());
  EXPECT_EQ(fetch->bytes(), 0U);
}

TEST_F(StateTransfer, can_be_given_up) {
  sources_[0].server.drop_all();
  const auto begin = std::chrono::steady_clock::now();
  { const auto fetch = this->fetch(); }
  for (Source& source : sources_) source.server.drop_all();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(StateSlices, cover_every_byte_once) {
  RankState state({3, 1000003, 0, 17, 700001}, 1);
  const StateSlices slices(state.ranges);
  std::size_t bytes = 0;
  RankState copy({3, 1000003, 0, 17, 700001}, -9);
  const StateSlices target(copy.ranges);
  for (int slice = 0; slice < slices.count(); ++slice) {
    std::vector<std::byte> memory(slices.bytes_of(slice));
    slices.read(slice, memory);
    target.write(slice, memory);
    bytes += memory.size();
  }
  EXPECT_EQ(bytes, slices.bytes());
  EXPECT_EQ(copy.memory, state.memory);
}

}  // namespace
}  // namespace tenax::resilience
