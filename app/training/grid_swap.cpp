#include "app/training/grid_swap.hpp"

#include <algorithm>

#include "app/training/initial_weights.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/swap/emulated_move.hpp"
#include "resilience/swap/slice_move.hpp"

namespace tenax::app {

using kernels::Deadline;
using resilience::MoveRoads;
using resilience::PlaceChange;

namespace {

// Whether a rank has come to the data group that `rank` is in now. The members that were there before have all weights,
// and get the same bits again.
bool gets_new_member(const parallel::ProcessGrid& from, const parallel::ProcessGrid& to, int rank) {
  const std::vector<int> group = to.group(parallel::GroupKind::data, rank);
  return std::any_of(group.begin(), group.end(),
                     [&](int member) { return PlaceChange(from, to, member).moves(); });
}

}  // namespace

GridSwap::Outcome GridSwap::run(const std::vector<int>& rank_of_position) {
  const double begin_s = kernels::steady_now_s();
  Outcome outcome;
  try {
    replica_.swap(rank_of_position, [&](auto& from, auto& to, comm::ControlGroup& control) {
      outcome.bytes = move_(from, to, control);
    });
  } catch (const comm::AgreedError& error) {
    return {.bytes = 0, .seconds = kernels::steady_now_s() - begin_s, .refusal = error.what()};
  }
  for (const auto& follow : follow_) follow();
  outcome.seconds = kernels::steady_now_s() - begin_s;
  return outcome;
}

std::uint64_t move_model_state(parallel::Replica& from, parallel::Replica& to, comm::ControlGroup& control,
                               int rank, const MoveRoads& roads) {
  auto& old_model = dynamic_cast<parallel::GptReplica&>(from);
  auto& new_model = dynamic_cast<parallel::GptReplica&>(to);
  const PlaceChange change(from.grid(), to.grid(), rank);
  const std::uint64_t bytes = resilience::move_state(control, [&] {
    // Both have some of their memory in common, and the weights of the last update with it.
    from.check_sums();
    if (change.moves()) old_model.mirror().fetch(Deadline::after_s(roads.deadline_s));
    return std::make_unique<resilience::SliceMove>(change, state_ranges(old_model.mirror()),
                                                   state_ranges(new_model.mirror()), roads);
  });
  control.agree([&] {
    if (change.moves()) new_model.mirror().store(Deadline::after_s(roads.deadline_s));
    if (gets_new_member(from.grid(), to.grid(), rank))
      new_model.state().publish_weights(Deadline::after_s(roads.deadline_s));
  });
  return bytes;
}

std::uint64_t move_emulated_state(parallel::Replica& from, parallel::Replica& to, comm::ControlGroup& control,
                                  const parallel::PipelineContext& context, std::uint64_t bytes,
                                  const MoveRoads& roads) {
  const PlaceChange change(from.grid(), to.grid(), context.world.rank());
  const std::uint64_t moved = resilience::move_state(control, [&] {
    return std::make_unique<resilience::EmulatedMove>(change, bytes, context.options.emulated, context.device,
                                                      roads);
  });
  control.agree([&] { to.gather(); });
  return moved;
}

}  // namespace tenax::app
