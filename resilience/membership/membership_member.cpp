#include "resilience/membership/membership_member.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <variant>

namespace tenax::resilience {

using Action = MemberPlan::Action;

MembershipMember::MembershipMember(Options options)
    : options_(std::move(options)), progress_(options_.id.replica, options_.samples) {}

void MembershipMember::on_connected(double now) {
  connected_ = true;
  heard_s_ = now;
  send(CheckIn{.id = options_.id,
               .build = options_.build,
               .deck = options_.deck,
               .data = options_.data,
               .loops = options_.loops,
               .host = options_.host,
               .addresses = options_.addresses,
               .state_addresses = options_.state_addresses,
               .done = progress_.done(),
               .next_sample = progress_.first_sample(),
               .epoch = epoch_ ? epoch_->number : 0,
               .needs_change = needs_change(),
               .stops = wishes_stop_,
               .is_writer = epoch_ && epoch_->writer == options_.id.replica});
  if (wishes_leave_) send(Leave{});
  send_unacked();
  send_observations();
  if (saved_) send(*saved_);
  if (joined_) send(*joined_);
}

// What was asked on this link will be asked again, by another service. What was answered stays answered: the service may
// have decided by it.
void MembershipMember::on_disconnected() {
  connected_ = run_stops_ = false;
  outbox_.clear();
  unacked_.rewind();
  unacked_validations_.rewind();
  unacked_observations_.rewind();
  asked_.reset();
  stop_.reset();
  if (!has_reported_) hold_.reset();
}

void MembershipMember::on_message(const ServiceMessage& message, double now) {
  heard_s_ = now;
  std::visit([this](const auto& known) { take(known); }, message);
}

void MembershipMember::on_time(double now) {
  if (connected_ && now - beaten_s_ >= options_.heartbeat_s) {
    beaten_s_ = now;
    send(Beat{.epoch = epoch_ ? epoch_->number : 0, .step = progress_.step(), .phase = phase_});
  }
  if (!waits()) return waits_since_s_.reset();
  if (!waits_since_s_) waits_since_s_ = now;
  if (now - std::max(*waits_since_s_, heard_s_) <= options_.service_wait_s) return;
  const bool has_more_than_checkpoints = epoch_ && progress_.is_whole();
  end_ = MemberPlan{
      .action = has_more_than_checkpoints ? Action::give_up : Action::exit,
      .status = 1,
      .reason = "the membership service was away for " + std::to_string(options_.service_wait_s) + " s",
      .step = progress_.done(),
      .next_sample = progress_.first_sample()};
}

std::vector<MemberMessage> MembershipMember::take_messages() { return std::exchange(outbox_, {}); }

bool MembershipMember::has_urgent_messages() const {
  const bool is_writer = epoch_ && epoch_->writer == options_.id.replica;
  return std::any_of(outbox_.begin(), outbox_.end(), [&](const MemberMessage& message) {
    return is_writer || !std::holds_alternative<Commit>(message);
  });
}

MemberPlan MembershipMember::plan() const {
  if (end_) return *end_;
  if (restores_) return {.action = Action::restore};
  if (stop_ && stop_->writer == options_.id.replica && !has_saved(stop_->done))
    return {.action = Action::save, .step = stop_->done, .next_sample = progress_.first_sample()};
  const bool is_free = epoch_ && phase_ == StepPhase::idle && !needs_change() && !stop_;
  if (!is_free || progress_.step() >= options_.train_steps) return {};
  return {.action = Action::train,
          .step = progress_.step(),
          .epoch = epoch_->number,
          .parts = progress_.parts(),
          .is_behind = !progress_.is_whole(),
          .holders = progress_.holders()};
}

void MembershipMember::begin_step() {
  assert(plan().action == Action::train);
  phase_ = StepPhase::passes;
  step_epoch_ = epoch_->number;
  progress_.begin();
}

bool MembershipMember::begin_vote() {
  assert(phase_ == StepPhase::passes);
  const bool is_aborted = frozen_ >= step_epoch_;
  phase_ = is_aborted ? StepPhase::idle : StepPhase::vote;
  return !is_aborted;
}

void MembershipMember::on_fetched(std::int64_t step) {
  if (needs_change() || step != progress_.step()) return;
  progress_.fetch();
  send_unacked();  // whoever had this state may be lost before the service heard of it
}

bool MembershipMember::on_vote(const StepOutcome& outcome) {
  assert(phase_ == StepPhase::vote);
  phase_ = outcome.has_all_sums ? StepPhase::idle : StepPhase::failed;
  bool updates = false;
  if (outcome.has_all_sums) {
    unacked_.add(commit_of(outcome));
    updates = progress_.complete(outcome.whole);
    send_unacked();
  } else if (outcome.accusation) {
    send(Accuse{.epoch = step_epoch_, .accusation = *outcome.accusation});
  } else if (!is_frozen()) {
    send(Suspect{.epoch = epoch_->number, .replica = outcome.suspect, .why = outcome.why});
  }
  if (asked_)
    report(*asked_);
  else if (connected_ && hold_ && hold_->step == progress_.step() && phase_ == StepPhase::idle)
    report(hold_->change);
  return updates;
}

void MembershipMember::on_restored(std::int64_t done, std::int64_t next_sample) {
  if (!std::exchange(restores_, false)) return;  // it fetches the state instead
  unacked_.forget_from(done);
  unacked_validations_.forget_from(done + 1);
  progress_.restore(done, next_sample);
  send(Restored{.done = done, .next_sample = next_sample});
}

void MembershipMember::on_joined(Joined joined) {
  joined.epoch = step_epoch_;
  joined_ = joined;
  send(joined);
}

void MembershipMember::on_saved(Saved saved) {
  saved_ = std::move(saved);
  send(*saved_);
}

void MembershipMember::on_validated(const Validated& validated) {
  unacked_validations_.add(validated);
  send_unacked();
}

void MembershipMember::on_observed(Observed observed) {
  observed.number = ++observations_;
  unacked_observations_.add(std::move(observed));
  send_observations();
}

double MembershipMember::missed_service_s(double now) const {
  if (connected_ || !waits_since_s_) return 0;
  return now - std::max(*waits_since_s_, heard_s_);
}

void MembershipMember::ask_stop() {
  wishes_stop_ = true;
  send(StopWish{});
}

void MembershipMember::ask_leave() {
  wishes_leave_ = true;
  send(Leave{});
}

void MembershipMember::take(const Refused& refused) { leave_run(1, refused.reason); }
void MembershipMember::take(const Evicted& evicted) { leave_run(1, evicted.reason); }
void MembershipMember::take(const Ended& /*ended*/) { leave_run(0, ""); }

// During the passes the answer is known: without the exchange the step cannot be complete. In the vote it is not.
void MembershipMember::take(const Freeze& freeze) {
  frozen_ = std::max(frozen_, freeze.epoch);
  hold_.reset();
  if (phase_ == StepPhase::vote)
    asked_ = freeze.change;
  else
    report(freeze.change);
}

void MembershipMember::take(const Hold& hold) {
  hold_.reset();
  if (is_frozen() || phase_ == StepPhase::failed) return;
  has_reported_ = false;
  const std::int64_t next = progress_.step() + (phase_ == StepPhase::idle ? 0 : 1);
  if (next > hold.step) return send(HoldMissed{.change = hold.change, .step = next});
  hold_ = hold;
  if (phase_ == StepPhase::idle && next == hold.step) report(hold.change);
}

void MembershipMember::take(const Resume& resume) {
  if (!hold_ || hold_->change != resume.change) return;
  hold_.reset();
  has_reported_ = false;
}

void MembershipMember::take(const NewEpoch& next) {
  const EpochMember* me = next.epoch.find(options_.id.replica);
  if ((epoch_ && next.epoch.number <= epoch_->number) || !me || me->id != options_.id) return;
  epoch_ = next.epoch;
  unacked_.forget_from(epoch_->from_step);
  unacked_validations_.forget_from(epoch_->from_step + 1);
  progress_.adopt(*epoch_);
  hold_.reset();
  stop_.reset();
  has_reported_ = restores_ = false;
  saved_.reset();
  if (phase_ == StepPhase::failed) phase_ = StepPhase::idle;
}

void MembershipMember::take(const CommitAck& ack) {
  unacked_.forget_before(ack.done);
  run_stops_ = ack.stops;
}

void MembershipMember::take(const ValidationAck& ack) { unacked_validations_.forget_before(ack.done + 1); }

void MembershipMember::take(const JoinAck& ack) {
  if (joined_ && joined_->epoch == ack.epoch) joined_.reset();
}

void MembershipMember::take(const ObservationAck& ack) {
  unacked_observations_.forget_before(ack.number + 1);
}

void MembershipMember::take(const Restore& /*restore*/) { restores_ = true; }

void MembershipMember::take(const StopAt& stop) {
  stop_ = stop;
  wishes_stop_ |= stop.done < options_.train_steps;
  if (stop.writer == options_.id.replica && has_saved(stop.done)) send(*saved_);
}

void MembershipMember::send(MemberMessage message) {
  if (connected_) outbox_.push_back(std::move(message));
}

void MembershipMember::send_unacked() {
  if (!connected_ || !progress_.is_whole()) return;
  for (CommitRecord& commit : unacked_.take_unsent()) send(Commit{std::move(commit)});
  for (const Validated& validated : unacked_validations_.take_unsent()) send(validated);
}

// A replica without the state knows what it has observed.
void MembershipMember::send_observations() {
  if (!connected_) return;
  for (const Observed& observed : unacked_observations_.take_unsent()) send(observed);
}

void MembershipMember::report(std::int64_t change) {
  asked_.reset();
  has_reported_ = true;
  Report report{.change = change, .epoch = epoch_ ? epoch_->number : 0, .done = progress_.done()};
  if (progress_.is_whole()) {
    report.next_sample = progress_.first_sample();
    report.has_begun = progress_.has_begun();
    report.parts = progress_.own_parts();
  }
  send(std::move(report));
}

void MembershipMember::leave_run(int status, const std::string& reason) {
  if (epoch_) frozen_ = std::max(frozen_, epoch_->number);
  end_ = MemberPlan{.action = Action::exit, .status = status, .reason = reason};
}

/// The training thread can do nothing without a word of the service.
bool MembershipMember::waits() const {
  return plan().action == Action::wait && (phase_ == StepPhase::idle || phase_ == StepPhase::failed);
}

CommitRecord MembershipMember::commit_of(const StepOutcome& outcome) const {
  return {.time = outcome.time,
          .step = progress_.step(),
          .epoch = epoch_->number,
          .first_sample = progress_.first_sample(),
          .parts = progress_.parts(),
          .loss = outcome.loss,
          .grad_norm = outcome.grad_norm,
          .lr = outcome.lr,
          .squares = outcome.squares,
          .sums = outcome.sums,
          .digest = outcome.digest,
          .iteration_s = outcome.iteration_s,
          .members = outcome.members,
          .is_masked = outcome.is_masked,
          .is_crowded = outcome.is_crowded};
}

}  // namespace tenax::resilience
