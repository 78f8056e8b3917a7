// State that a replica fetches from the equal ranks of others.
#include "tests/resilience/replicas/state_source.hpp"

namespace tenax::resilience {
namespace {

class StateTransfer : public ::testing::Test {
 protected:
  StateTransfer() {
    for (Source& source : sources_) source.server.open(kDone);
  }
  std::unique_ptr<StateFetch> fetch(std::int64_t done = kDone, double bytes_per_s = 0) {
    for (Source& source : sources_) source.server.serve(joiner_.peer, kPurpose);
    return std::make_unique<StateFetch>(joiner_.slices, *joiner_.transport,
                                        std::vector{sources_[0].peer, sources_[1].peer}, joiner_.nobody,
                                        StateFetch::Options{done, kPurpose, 20, bytes_per_s});
  }
  Source sources_[2] = {Source(0), Source(1)};
  Source joiner_{2};
};

TEST_F(StateTransfer, brings_all_of_it_from_several_sources) {
  clear(joiner_.state);
  const auto fetch = this->fetch();
  wait_for(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  EXPECT_EQ(joiner_.state.memory, sources_[0].state.memory);
  EXPECT_EQ(fetch->bytes(), joiner_.slices.bytes());
  EXPECT_GE(sources_[0].server.served_bytes() + sources_[1].server.served_bytes() - joiner_.slices.bytes(),
            static_cast<std::uint64_t>(joiner_.slices.count()) * 8);  // checksums
}

TEST_F(StateTransfer, is_no_faster_than_its_limit) {
  clear(joiner_.state);
  constexpr double kBytesPerSecond = 40e6;
  const double begin_s = kernels::steady_now_s();
  const auto fetch = this->fetch(kDone, kBytesPerSecond);
  wait_for(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  std::size_t largest = 0;
  for (int slice = 0; slice < joiner_.slices.count(); ++slice)
    largest = std::max(largest, joiner_.slices.bytes_of(slice));
  EXPECT_GE(kernels::steady_now_s() - begin_s,
            static_cast<double>(joiner_.slices.bytes() - largest) / kBytesPerSecond);
  EXPECT_EQ(joiner_.state.memory, sources_[0].state.memory);
}

// Bytes that leave at the limit's pace find all sources there. A source that is done may be asked for what another owes.
TEST_F(StateTransfer, takes_as_much_of_each_source_for_two_that_fetch) {
  Source other{3};
  constexpr double kBytesPerSecond = 20e6;
  std::vector<std::unique_ptr<StateFetch>> fetches;
  for (Source& source : sources_) source.server.serve(other.peer, kPurpose);
  fetches.push_back(fetch(kDone, kBytesPerSecond));
  fetches.push_back(std::make_unique<StateFetch>(
      other.slices, *other.transport, std::vector{sources_[0].peer, sources_[1].peer}, other.nobody,
      StateFetch::Options{kDone, kPurpose, 20, kBytesPerSecond, 1}));
  for (const auto& fetch : fetches) wait_for(*fetch);
  EXPECT_TRUE(fetches[0]->is_complete() && fetches[1]->is_complete());
  const std::uint64_t one = sources_[0].server.served_bytes(), two = sources_[1].server.served_bytes();
  EXPECT_GE(static_cast<double>(std::min(one, two)), 0.6 * static_cast<double>(std::max(one, two)));
}

TEST_F(StateTransfer, goes_on_with_another_source_when_one_dies) {
  clear(joiner_.state);
  const auto fetch = this->fetch();
  sources_[0].server.drop_all();
  wait_for(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  EXPECT_EQ(joiner_.state.memory, sources_[1].state.memory);
}

/// Twice as many sources as a fetch asks at once; nobody listens there but for the first of each half.
class StateTransferOfMany : public StateTransfer {
 protected:
  StateTransferOfMany() : peers_(2 * StateFetch::kMostSources, Source(3).peer) {
    for (Source& source : sources_) source.server.serve(joiner_.peer, kPurpose);
    peers_.front() = sources_[0].peer;
    peers_[StateFetch::kMostSources] = sources_[1].peer;
    clear(joiner_.state);
  }
  void fetch_all(int turn) {
    const StateFetch fetch(joiner_.slices, *joiner_.transport, peers_, joiner_.nobody,
                           {.done = kDone, .purpose = kPurpose, .deadline_s = 20, .turn = turn});
    wait_for(fetch);
    ASSERT_TRUE(fetch.is_complete());
    EXPECT_EQ(joiner_.state.memory, sources_[1].state.memory);
  }
  std::vector<comm::Peer> peers_;
};

TEST_F(StateTransferOfMany, asks_a_few_at_once) {
  fetch_all(0);
  EXPECT_EQ(sources_[1].server.served_bytes(), 0U);
}

TEST_F(StateTransferOfMany, asks_others_than_another_that_fetches) {
  fetch_all(1);
  EXPECT_EQ(sources_[0].server.served_bytes(), 0U);
}

TEST_F(StateTransferOfMany, asks_the_others_where_the_first_give_nothing) {
  sources_[0].server.close();
  fetch_all(0);
  EXPECT_EQ(sources_[0].server.served_bytes(), 0U);
}

TEST_F(StateTransfer, refuses_another_state_than_the_one_that_is_wanted) {
  const auto fetch = this->fetch(kDone + 1);
  wait_for(*fetch);
  EXPECT_TRUE(fetch->has_failed());
  EXPECT_FALSE(fetch->is_complete());
}

TEST_F(StateTransfer, gives_nothing_once_an_update_may_begin) {
  for (Source& source : sources_) source.server.close();
  const auto fetch = this->fetch();
  wait_for(*fetch);
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
