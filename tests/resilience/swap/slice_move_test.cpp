// State that goes from rank to rank when they change places.
#include "resilience/swap/slice_move.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "io/checksum.hpp"
#include "kernels/error.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::resilience {
namespace {

constexpr double kDeadline_s = 20;

/// Ranges of odd sizes, one of which is more than a slice, each with weights and a moment.
class RankState {
 public:
  explicit RankState(float first) {
    for (const std::int64_t count : {3, 300001, 1, 17}) {
      io::StateRange range{.name = "w", .layout = {}, .count = count};
      for (const char* group : {"/model", "/optimizer/exp_avg"}) {
        memory_.emplace_back(static_cast<std::size_t>(count));
        std::iota(memory_.back().begin(), memory_.back().end(), first + static_cast<float>(memory_.size()));
        range.parts.push_back({group, memory_.back().data()});
      }
      ranges_.push_back(std::move(range));
    }
  }
  RankState(const RankState&) = delete;
  RankState& operator=(const RankState&) = delete;
  const SliceMove::Ranges& ranges() const { return ranges_; }
  const std::vector<std::vector<float>>& memory() const { return memory_; }

 private:
  std::vector<std::vector<float>> memory_;
  SliceMove::Ranges ranges_;
};

/// Two ranks that change places.
class SliceMoves : public testing::Test {
 protected:
  std::unique_ptr<SliceMove> begin(int rank, const RankState& from, const RankState& to, int generation = 1,
                                   double deadline_s = kDeadline_s) {
    return std::make_unique<SliceMove>(change_of(rank, generation), from.ranges(), to.ranges(),
                                       MoveRoads{network_.transport(rank), network_.peers(), deadline_s});
  }
  static PlaceChange change_of(int rank, int generation) {
    const parallel::ProcessGrid first({.tensor = 1, .pipeline = 1, .data = 2});
    return {first, parallel::ProcessGrid(first.shape(), {1, 0}, generation), rank};
  }
  static void finish(SliceMove& move) {
    while (move.goes_on(0.1)) {
    }
  }
  /// Rank 1's part, with a first slice whose checksum is `wrong` off. Rank 0 must have begun.
  void send_one_slice(const RankState& state, std::uint64_t wrong) {
    const auto deadline = kernels::Deadline::after_s(kDeadline_s);
    sent_ = network_.transport(1).accept(network_.peers()[0], "swap.1.0", deadline);
    const auto bytes = std::as_bytes(std::span(state.memory().front()));
    sent_->send({.kind = 1,
                 .sequence = io::checksum_of_bytes(bytes, 0) + wrong,
                 .bytes = bytes.size(),
                 .payload_bytes = bytes.size()},
                bytes, deadline);
  }

  comm::LocalNetwork network_{2};
  std::unique_ptr<comm::Connection> sent_;
  RankState old_0_{5}, old_1_{1000}, new_0_{-1}, new_1_{-1};
};

TEST_F(SliceMoves, bring_each_rank_the_state_of_the_other) {
  const auto move_0 = begin(0, old_0_, new_0_), move_1 = begin(1, old_1_, new_1_);
  finish(*move_0);
  finish(*move_1);
  EXPECT_EQ(new_0_.memory(), old_1_.memory());
  EXPECT_EQ(new_1_.memory(), old_0_.memory());
  EXPECT_EQ(move_0->bytes(), 2 * sizeof(float) * (3 + 300001 + 1 + 17));
}

TEST_F(SliceMoves, refuse_state_of_another_generation) {
  const auto move_0 = begin(0, old_0_, new_0_, 1, 0.5), move_1 = begin(1, old_1_, new_1_, 2, 0.5);
  EXPECT_THROW(finish(*move_0), kernels::Error);
  EXPECT_THROW(finish(*move_1), kernels::Error);
  EXPECT_EQ(move_0->bytes() + move_1->bytes(), 0U);
}

TEST_F(SliceMoves, refuse_a_damaged_slice) {
  for (const std::uint64_t wrong : {0, 1}) {
    const auto move = begin(0, old_0_, new_0_, 1, 0.5);
    send_one_slice(old_1_, wrong);
    EXPECT_THROW(finish(*move), kernels::Error);  // at the latest as no second one comes
    EXPECT_EQ(move->bytes(), wrong == 0 ? old_1_.memory().front().size() * sizeof(float) : 0);
  }
}

TEST_F(SliceMoves, can_be_given_up_while_nobody_answers) {
  const auto move = begin(0, old_0_, new_0_, 1, 3600);
  EXPECT_TRUE(move->goes_on(0.01));
}

TEST_F(SliceMoves, ask_nothing_of_a_rank_that_stays) {
  const parallel::ProcessGrid grid({.tensor = 1, .pipeline = 1, .data = 2});
  SliceMove move({grid, parallel::ProcessGrid(grid.shape(), {0, 1}, 1), 0}, old_0_.ranges(), new_0_.ranges(),
                 {network_.transport(0), network_.peers(), kDeadline_s});
  EXPECT_FALSE(move.goes_on(0));
  EXPECT_EQ(move.bytes(), 0U);
}

}  // namespace
}  // namespace tenax::resilience
