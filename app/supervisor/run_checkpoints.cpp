#include "app/supervisor/run_checkpoints.hpp"

#include "app/launch/launch_files.hpp"
#include "app/units.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

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
  records_.event("checkpoint", writer.replica,
                 JsonObject{}
                     .add("file", resilience::checkpoint_name(section.dir, saved.done).string())
                     .add("seconds", saved.seconds)
                     .add("bytes", saved.bytes));
}

void RunCheckpoints::take(const resilience::StepsVoided& voided) const {
  for (const auto& file : resilience::set_aside_checkpoints(deck_.checkpoint.dir, voided.void_from))
    console_.warn("a checkpoint of steps that are void is kept as " + file.string());
}

void RunCheckpoints::take(const resilience::StateCorrupt& corrupt) const {
  if (!corrupt.distrusts_checkpoints) return;
  for (const auto& file : resilience::set_aside_checkpoints(deck_.checkpoint.dir, corrupt.trusted))
    console_.warn("a checkpoint that may be wrong is kept as " + file.string());
}

void RunCheckpoints::refuse(const resilience::CheckpointSaved& checkpoint, const std::string& failure) {
  const std::int64_t done = checkpoint.saved.done;
  const std::string file = resilience::checkpoint_name(deck_.checkpoint.dir, done).string();
  records_.event("checkpoint_failed", checkpoint.writer.replica,
                 JsonObject{}.add("file", file).add("reason", failure));
  if (checkpoint.is_last)
    throw kernels::Error(kernels::Scope::job, "the last checkpoint could not be written: " + failure);
  console_.warn(format("the checkpoint of step %lld could not be written, training goes on: %s",
                       static_cast<long long>(done), failure.c_str()));
}

void RunCheckpoints::forget(resilience::ReplicaId writer) const {
  resilience::remove_pending_checkpoints(deck_.checkpoint.dir,
                                         checkpoint_writer(writer.replica, writer.incarnation));
}

void RunCheckpoints::forget_all() const { resilience::remove_pending_checkpoints(deck_.checkpoint.dir); }

}  // namespace tenax::app
