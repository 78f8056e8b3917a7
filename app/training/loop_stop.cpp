#include "app/training/loop_stop.hpp"

#include "app/training/start_elsewhere.hpp"
#include "app/units.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

void LoopStop::fill(StepBallot& ballot) const {
  ballot.signalled = signals_.requested();
  ballot.time_is_up = time_is_up();
  ballot.restarts = !excluded_hosts_.empty();
}

// A supervisor looks at the time limit itself.
EarlyStop LoopStop::wish() const {
  return {.signalled = signals_.requested(), .time_is_up = peers_ ? peers_->run_stops() : time_is_up()};
}

void LoopStop::suspend(const StepVote& vote) {
  reason_ = vote.signalled ? "signal" : vote.time_is_up ? "time_limit" : kRestart;
}

// The service ends a run before its last step where somebody asks for it.
const std::string& LoopStop::end(bool is_completed) {
  if (peers_) reason_ = "signal";
  if (is_completed) reason_ = kCompleted;
  return reason_;
}

void LoopStop::exclude_hosts(comm::ControlGroup& control) const {
  if (reason_ != kRestart) return;
  control.agree([&] {
    if (control.rank() == 0) app::exclude_hosts(deck_.run.output_dir, excluded_hosts_);
  });
}

bool LoopStop::time_is_up() const {
  const double limit_s = deck_.run.max_minutes * kSecondsPerMinute;
  return limit_s > 0 && kernels::steady_now_s() - started_s_ >= limit_s;
}

}  // namespace tenax::app
