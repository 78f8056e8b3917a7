#include "app/supervisor/run_checkpoints.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "app/launch/launch_files.hpp"
#include "app/launch/left_checkpoint.hpp"
#include "app/units.hpp"
#include "kernels/deadline.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using io::JsonObject;

void RunCheckpoints::take(const resilience::CheckpointSaved& checkpoint) {
  const resilience::Saved& saved = checkpoint.saved;
  const io::CheckpointSection& section = deck_.checkpoint;
  if (!saved.failure.empty()) return refuse(checkpoint, saved.failure);
  if (saved.bytes == 0) return;
  const resilience::ReplicaId writer = checkpoint.writer;
  try {
    if (!resilience::place_checkpoint(section.dir, saved.done,
                                      checkpoint_writer(writer.replica, writer.incarnation), section.keep))
      return;  // it has its place already
  } catch (const kernels::Error& error) {
    return refuse(checkpoint, error.what());
  }
  records_.event_of_step(saved.done, "checkpoint", writer.replica,
                         JsonObject{}
                             .add("file", resilience::checkpoint_name(section.dir, saved.done).string())
                             .add("seconds", saved.seconds)
                             .add("bytes", saved.bytes));
}

void RunCheckpoints::take(const resilience::StepsVoided& voided) const {
  set_aside("a checkpoint of steps that are void", [&](const fs::path& directory) {
    std::vector<fs::path> kept = resilience::set_aside_checkpoints(directory, voided.void_from);
    for (auto& left : resilience::set_aside_pending_checkpoints(directory, voided.void_from, lost_))
      kept.push_back(std::move(left));
    return kept;
  });
}

void RunCheckpoints::take(const resilience::StateCorrupt& corrupt) const {
  if (!corrupt.distrusts_checkpoints) return;
  set_aside("a checkpoint that may be wrong", [&](const fs::path& directory) {
    return resilience::set_aside_checkpoints(directory, corrupt.trusted);
  });
}

// Replicas must not restore one of these; a file system that does not answer for a moment is not the end of the run.
void RunCheckpoints::set_aside(const char* what, const SetAside& move) const {
  constexpr double kPatience_s = 10;
  const auto latest = kernels::Deadline::after_s(kPatience_s);
  while (true) try {
      for (const fs::path& file : move(deck_.checkpoint.dir))
        console_.warn(std::string(what) + " is kept as " + file.string());
      return;
    } catch (const kernels::Error&) {
      if (latest.expired()) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

void RunCheckpoints::refuse(const resilience::CheckpointSaved& checkpoint, const std::string& failure) {
  const std::int64_t done = checkpoint.saved.done;
  const std::string file = resilience::checkpoint_name(deck_.checkpoint.dir, done).string();
  records_.event_of_step(done, "checkpoint_failed", checkpoint.writer.replica,
                         JsonObject{}.add("file", file).add("reason", failure));
  if (checkpoint.is_last)
    throw kernels::Error(kernels::Scope::job, "the last checkpoint could not be written: " + failure);
  console_.warn(format("the checkpoint of step %lld could not be written, training goes on: %s",
                       static_cast<long long>(done), failure.c_str()));
}

void RunCheckpoints::take(const resilience::ReplicaLost& lost) {
  const std::string writer = checkpoint_writer(lost.id.replica, lost.id.incarnation);
  const bool is_doubtful =
      lost.reason == resilience::LossReason::corrupt || lost.reason == resilience::LossReason::diverged;
  if (is_doubtful) doubtful_.push_back(writer);
  lost_.insert(writer);
  if (is_doubtful)
    resilience::remove_pending_checkpoints(deck_.checkpoint.dir, writer);
  else if (place_left(writer))
    resilience::remove_pending_checkpoints(deck_.checkpoint.dir, writer, records_.steps_done());
}

// A writer that was lost may have completed a file since.
void RunCheckpoints::leave() const {
  for (const std::string& writer : doubtful_)
    resilience::remove_pending_checkpoints(deck_.checkpoint.dir, writer);
  if (place_left())
    resilience::remove_pending_checkpoints(deck_.checkpoint.dir, {}, records_.steps_done());
  else
    resilience::remove_half_written_checkpoints(deck_.checkpoint.dir);
}

// False where it cannot be told, or done, now: nothing complete may be removed then. Throws nothing: the run goes on, or
// ends by something else.
bool RunCheckpoints::place_left(const std::optional<std::string>& writer) const {
  try {
    if (const auto placed = place_recorded_checkpoint(deck_, writer))
      console_.say("a replica that has gone has left " + placed->string());
    return true;
  } catch (const std::exception& error) {
    console_.warn(std::string("a complete checkpoint may wait for its place: ") + error.what());
    return false;
  }
}

}  // namespace tenax::app
