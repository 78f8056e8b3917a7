#include "app/training/peer_state.hpp"

#include <bit>

#include "app/fault_options.hpp"
#include "app/training/initial_weights.hpp"

namespace tenax::app {

PeerState::PeerState(const RunRank& rank, parallel::GptReplica& replica)
    : rank_(rank), replica_(replica), places_(rank.deck()) {
  const int number = rank.world().rank();
  const resilience::FaultSeat seat{
      .replica = rank.seat()->replica, .rank = number, .directory = rank.records_directory()};
  const auto requests = bit_flip_requests(rank.deck(), seat);
  if (replica.mirror().is_copy()) {
    if (!requests.empty())
      throw kernels::Error(kernels::Scope::job, std::string("bit_flip: ") + io::kCannotFlip);
    return;
  }
  if (const std::int64_t slices = rank.deck().replicas.digest_steps; slices > 0)
    digests_.emplace(state_ranges(replica.mirror()),
                     resilience::DigestSlices::Options{
                         .slices = slices, .rank = number, .place_of = [&](const std::string& name) {
                           return places_.place(number, name);
                         }});
  if (!requests.empty()) flips_.emplace(requests, flip_targets(replica), seat);
}

std::vector<resilience::FlipTarget> PeerState::flip_targets(parallel::GptReplica& replica) {
  const parallel::TrainingState& state = replica.state();
  const std::vector<io::StateRange> ranges = state_ranges(replica.mirror());
  std::vector<resilience::FlipTarget> targets;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    targets.push_back({.range = ranges[i],
                       .own_sum = state.own_gradient(state.owned()[i]).as<float>(),
                       .sum = state.owned()[i].gradient.as<float>()});
  return targets;
}

void PeerState::begin_step(std::int64_t step, bool has_state) {
  if (!flips_) return;
  flips_->begin_step(step);
  if (has_state) flips_->strike_state();
}

void PeerState::on_own_piece(kernels::Stream& stream, const parallel::GradientPiece& piece) {
  if (!flips_) return;
  stream.synchronize(kernels::Deadline::after_s(rank_.deck().comm.deadline_s));
  flips_->strike_own_sums(piece.own.as<float>(), piece.own.size());
}

void PeerState::on_sums() {
  if (flips_) flips_->strike_sums();
}

std::optional<resilience::StateDigest> PeerState::digest(std::int64_t step) const {
  if (!digests_) return {};
  return digests_->of_step(step);
}

resilience::PlacedSum PeerState::placed(const std::vector<parallel::RowSquares>& rows) const {
  resilience::PlacedSum sum;
  for (const parallel::RowSquares& row : rows)
    sum.add(std::bit_cast<std::uint64_t>(row.squares),
            static_cast<std::uint64_t>(
                places_.place(rank_.world().rank(), replica_.state().table().row(row.row).name)));
  return sum;
}

resilience::OwnSquares PeerState::own_squares() {
  const auto& rows =
      replica_.state().own_squares_of_rows(kernels::Deadline::after_s(rank_.deck().comm.deadline_s));
  resilience::OwnSquares own{.squares = 0, .sums = placed(rows)};
  for (const parallel::RowSquares& row : rows) own.squares += row.squares;
  return own;
}

resilience::PlacedSum PeerState::placed_squares() const { return placed(replica_.state().squares_of_rows()); }

}  // namespace tenax::app
