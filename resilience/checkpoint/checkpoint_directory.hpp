// The files of a checkpoint directory: `step-NNNNNN.h5` are complete checkpoints, whose number is
// the steps done; `.step-NNNNNN.h5.tmp-*` are being written; `step-NNNNNN.h5.WRITER` is complete and
// waits for its place, as a writer among several replicas cannot know whether it still is one.
// Nothing else is touched. Called by one rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tenax::resilience {

std::filesystem::path checkpoint_name(const std::filesystem::path& directory, std::int64_t step);

struct CheckpointFile {
  std::int64_t step;
  std::filesystem::path path;
  std::string writer = {};  ///< that waits for its place; empty where it has one
};
std::filesystem::path pending_checkpoint_name(const std::filesystem::path& directory, std::int64_t step,
                                              const std::string& writer);

/// By increasing step; empty if there is no such directory. Throws kernels::Error(rank) where it cannot be read.
std::vector<CheckpointFile> list_checkpoints(const std::filesystem::path& directory);

/// Those that are complete and wait for their place, likewise.
std::vector<CheckpointFile> list_pending_checkpoints(const std::filesystem::path& directory);

/// Renames the checkpoints of more than `after_step` steps to "<name>.1" (.2, …), so that they no
/// longer count: the run that goes on from there will write its own. Returns the new names. Throws
/// kernels::Error(rank).
std::vector<std::filesystem::path> set_aside_checkpoints(const std::filesystem::path& directory,
                                                         std::int64_t after_step);
/// The same for those that wait for their place, of these writers (nothing: of all), but for what is surely no complete
/// checkpoint.
std::vector<std::filesystem::path> set_aside_pending_checkpoints(
    const std::filesystem::path& directory, std::int64_t after_step,
    const std::optional<std::set<std::string>>& writers = {});

/// Creates the directory where there is none, and checks that it can be written. Throws
/// kernels::Error(rank).
void make_checkpoint_directory(const std::filesystem::path& directory);
/// The same, and removes the half written files of killed runs, and those that wait for their place.
void prepare_checkpoint_directory(const std::filesystem::path& directory);
/// Of killed runs, nobody else's: what takes room and is of no use. Complete files stay, whoever is to give them their place.
void remove_half_written_checkpoints(const std::filesystem::path& directory);

/// Gives what `writer` has complete its place, and removes old ones as below. False if it has none.
/// Throws kernels::Error(rank).
bool place_checkpoint(const std::filesystem::path& directory, std::int64_t step, const std::string& writer,
                      std::int64_t keep);
/// Removes what `writer` (or, without one, whoever) has begun, or has completed of `most_steps` steps at the most (nothing: of any
/// number), but for what has its place.
void remove_pending_checkpoints(const std::filesystem::path& directory,
                                const std::optional<std::string>& writer = {},
                                std::optional<std::int64_t> most_steps = {});

/// Removes all but the newest `keep` checkpoints (0 = none), of which `just_written` counts as the
/// newest. A file that cannot be removed stays.
void remove_old_checkpoints(const std::filesystem::path& directory, std::int64_t keep,
                            std::int64_t just_written);

/// That its disk says to have; where it says nothing, more than any file takes.
std::int64_t free_bytes(const std::filesystem::path& directory);
/// Removes the oldest checkpoints until they had `lacking` bytes, one at the least, but never the newest. False where all of
/// them have less, and stay, or where one cannot be removed.
bool remove_oldest_checkpoints(const std::filesystem::path& directory, std::int64_t lacking);

/// The checkpoints that a run is going to write.
struct CheckpointPlan {
  std::int64_t bytes = 0;       ///< about the size of one checkpoint
  std::int64_t keep = 0;        ///< how many are to stay; 0 = all
  std::int64_t steps_done = 0;  ///< by the checkpoint resumed from: later ones are none of this run's
};

/// Whether the disk has room for the plan, beside what the directory (which exists) holds: empty,
/// or the sentence of a warning if not all that are to be kept fit. Throws kernels::Error(rank) if
/// not even the first one does.
std::string check_room_for_checkpoints(const std::filesystem::path& directory, const CheckpointPlan& plan);

}  // namespace tenax::resilience
