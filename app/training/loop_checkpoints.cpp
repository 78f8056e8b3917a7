#include "app/training/loop_checkpoints.hpp"

#include <array>

#include "app/options.hpp"
#include "app/units.hpp"

namespace tenax::app {

using kernels::steady_now_s;
using parallel::HostPhase;
using parallel::PhaseRecord;

LoopCheckpoints::LoopCheckpoints(const io::Deck& deck, resilience::CheckpointManager* manager,
                                 RunRecords& records, Console& console, StepProfile& profile)
    : deck_(deck), manager_(manager), records_(records), console_(console), profile_(profile) {}

bool LoopCheckpoints::time_has_come() const {
  const io::CheckpointSection& section = deck_.checkpoint;
  return section.interval == 0 && section.interval_minutes > 0 &&
         steady_now_s() - last_s_ >= section.interval_minutes * kSecondsPerMinute;
}

bool LoopCheckpoints::is_due(std::int64_t steps_done) const {
  return deck_.checkpoint.interval > 0 && steps_done % deck_.checkpoint.interval == 0;
}

// Collective: asked once, when all else is in memory.
bool LoopCheckpoints::takes_copies(comm::ControlGroup& control) {
  if (takes_copies_) return *takes_copies_;
  std::array<double, 1> lacking = {manager_->has_room_for_copy() ? 0.0 : 1.0};
  control.all_reduce_sum(lacking);
  takes_copies_ = lacking[0] == 0;
  if (!*takes_copies_)
    console_.warn(
        "a host has no memory for copies of its ranks' state: training waits while checkpoints are written");
  return *takes_copies_;
}

void LoopCheckpoints::start(comm::ControlGroup& control, std::int64_t steps_done,
                            std::optional<std::int64_t> next_sample) {
  last_s_ = steady_now_s();
  if (!manager_) return;
  records_.sync();  // a checkpoint that outlives the host must not be of steps without their lines
  const double begin_s = steady_now_s();
  manager_->wait(patience_s(), waiting_);  // the one before
  if (!takes_copies(control)) {
    const HostPhase phase(profile_, "write checkpoint");
    manager_->save_in_place(steps_done, io::to_toml(deck_), next_sample);
    manager_->wait(patience_s(), waiting_);
    return record(true);
  }
  manager_->save_async(steps_done, io::to_toml(deck_), next_sample);
  const double snapshot_s = manager_->snapshot_begin_s(), now_s = steady_now_s();
  profile_.on_phase({PhaseRecord::Where::host, "wait for checkpoint", begin_s, snapshot_s});
  profile_.on_phase({PhaseRecord::Where::host, "checkpoint snapshot", snapshot_s, now_s});
  record(true);
  if (manager_->is_saving()) writing_since_s_ = now_s;
}

// In rounds: who has written its part waits for no other for longer than the control group allows.
void LoopCheckpoints::settle(comm::ControlGroup& control) {
  if (!manager_) return;
  const HostPhase phase(profile_, "wait for checkpoint");
  const double round_s = comm::turn_seconds(deck_.comm.deadline_s);
  comm::agree_in_rounds(control, [&] { return manager_->wait_some(round_s, patience_s()); });
}

// As the saving group's own deadline.
double LoopCheckpoints::patience_s() const { return file_patience_s(deck_); }

// A run whose last checkpoint cannot be written has failed; earlier ones only warn.
bool LoopCheckpoints::finish(std::int64_t steps_done, std::optional<std::int64_t> next_sample) {
  if (!manager_) return false;
  saved_steps_ = -1;  // what was told of earlier may be asked for again, or be of steps that are void
  {
    const HostPhase phase(profile_, "wait for checkpoint");
    manager_->wait(patience_s(), waiting_);
  }
  record(false);
  if (deck_.checkpoint.interval < 0) return false;
  if (saved_steps_ == steps_done) return true;
  records_.sync();
  const resilience::SaveReport report = manager_->save(steps_done, io::to_toml(deck_), next_sample);
  record(report, false, true);
  if (!report.saved())
    throw comm::AgreedError(kernels::Scope::job,
                            "the last checkpoint could not be written: " + report.failure);
  return true;
}

void LoopCheckpoints::record(bool goes_on) {
  if (!manager_) return;
  while (const auto report = manager_->poll()) record(*report, goes_on);
}

void LoopCheckpoints::record(const resilience::SaveReport& report, bool goes_on, bool is_final) {
  writing_since_s_.reset();
  last_write_s_ = report.seconds;
  if (told_) told_(report, is_final);
  profile_.on_phase(
      {PhaseRecord::Where::background, "checkpoint write", report.end_s - report.seconds, report.end_s});
  io::JsonObject details;
  details.add("file", report.file.string());
  if (report.saved()) {
    saved_steps_ = report.step;
    details.add("seconds", report.seconds).add("bytes", report.bytes);
    return records_.event(report.step, "checkpoint", details);
  }
  if (goes_on)
    console_.warn(format("the checkpoint of step %lld could not be written, training goes on: %s",
                         static_cast<long long>(report.step), report.failure.c_str()));
  records_.event(report.step, "checkpoint_failed", details.add("reason", report.failure));
}

}  // namespace tenax::app
