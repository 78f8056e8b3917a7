#include "app/training/loop_membership.hpp"

namespace tenax::app {

using resilience::MemberPlan;

bool LoopMembership::begin(TrainingPosition& position) {
  if (!parts_.peers.exist()) return true;
  while (parts_.peers.begin().plan.action != Action::train) {
    const MemberPlan& plan = parts_.peers.work().plan;
    if (plan.action == Action::exit && plan.status == 0) return false;
    follow(plan, position);
  }
  position.step = parts_.peers.work().plan.step;
  return true;
}

void LoopMembership::keep_commits() const {
  if (parts_.peers.exist() && parts_.run.keep_commits)
    parts_.run.keep_commits(parts_.peers.session().unrecorded());
}

void LoopMembership::follow(const MemberPlan& plan, TrainingPosition& position) {
  if (plan.action == Action::restore) return restore(position);
  if (plan.action == Action::save || plan.action == Action::give_up) save(plan, position.step);
  if (plan.action != Action::save) throw comm::AgreedError(kernels::Scope::replica, plan.reason);
}

void LoopMembership::restore(TrainingPosition& position) {
  const RestoredState state = parts_.run.restore();
  position = {.step = state.steps, .next_sample = state.next_sample};
  parts_.validation.forget();
  parts_.peers.session().on_restored(state.steps, state.next_sample);
}

void LoopMembership::save(const MemberPlan& plan, std::int64_t steps_done) {
  resilience::ReplicaSession& session = parts_.peers.session();
  const bool gives_up = plan.action == Action::give_up;
  if (!gives_up && steps_done >= parts_.run.deck.run.train_steps) parts_.validation.run_last(steps_done);
  keep_commits();
  const bool has_saved = parts_.checkpoints.finish(steps_done, plan.next_sample);
  if (has_saved && gives_up) parts_.run.place_checkpoint(steps_done, session.unrecorded());
  if (!has_saved && !gives_up) session.on_saved({.done = plan.step});
}

}  // namespace tenax::app
