#include "resilience/swap/state_move.hpp"

namespace tenax::resilience {

PlaceChange::PlaceChange(const parallel::ProcessGrid& from, const parallel::ProcessGrid& to, int r)
    : rank(r),
      source(from.rank_of(to.coordinates_of(r))),
      destination(to.rank_of(from.coordinates_of(r))),
      generation(to.generation()) {}

std::uint64_t move_state(comm::ControlGroup& control,
                         const std::function<std::unique_ptr<StateMove>()>& begin) {
  constexpr double kRound_s = 0.5;
  std::unique_ptr<StateMove> move;
  control.agree([&] { move = begin(); });
  comm::agree_in_rounds(control, [&] { return move->goes_on(kRound_s); });
  return move->bytes();
}

}  // namespace tenax::resilience
