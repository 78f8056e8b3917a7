#include "parallel/replica/swappable_replica.hpp"

namespace tenax::parallel {

namespace {

/// Who waits for others to connect fails a deadline later than who fails at once; the vote waits for both.
constexpr double kDeadlinesOfSwap = 3;

}  // namespace

SwappableReplica::SwappableReplica(const Layout& layout, const PipelineContext& context, Build build)
    : Replica(layout, ProcessGrid(layout.grid), context),
      rank_(context.world.rank()),
      build_(std::move(build)),
      current_(build_(grid_, nullptr)) {
  context.world.set_options({kDeadlinesOfSwap * group_deadline_s_});
  decision_ = context.world.control_group();
  context.world.set_options({deadline_s_});
}

void SwappableReplica::swap(std::vector<int> rank_of_position, const Move& move) {
  ++generations_;  // what a swap leaves behind that fails is refused later, too
  std::unique_ptr<Replica> next;
  decision_->agree([&] {
    next = build_(ProcessGrid(layout_.grid, std::move(rank_of_position), generations_), current_.get());
  });
  move(*current_, *next, *decision_);
  grid_ = next->grid();
  coordinates_ = grid_.coordinates_of(rank_);
  current_ = std::move(next);
}

}  // namespace tenax::parallel
