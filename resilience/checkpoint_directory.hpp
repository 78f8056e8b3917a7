// The files of a checkpoint directory: `step-NNNNNN.h5` are complete checkpoints, whose number is the steps
// done; `.step-NNNNNN.h5.tmp-*` are being written. Nothing else is touched. Called by one rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace tenax::resilience {

std::filesystem::path checkpoint_name(const std::filesystem::path& directory, std::int64_t step);

struct CheckpointFile {
  std::int64_t step;
  std::filesystem::path path;
};
/// By increasing step; empty if there is no such directory.
std::vector<CheckpointFile> list_checkpoints(const std::filesystem::path& directory);

/// Renames the checkpoints of more than `after_step` steps to "<name>.1" (.2, …), so that they no longer count: the run
/// that goes on from there will write its own. Returns the new names. Throws kernels::Error(rank).
std::vector<std::filesystem::path> set_aside_checkpoints(const std::filesystem::path& directory,
                                                         std::int64_t after_step);

/// Creates the directory, checks that it can be written, and removes what killed runs left half written.
/// Throws kernels::Error(rank).
void prepare_checkpoint_directory(const std::filesystem::path& directory);

/// Removes all but the newest `keep` checkpoints (0 = none), of which `just_written` counts as the newest. A
/// file that cannot be removed stays.
void remove_old_checkpoints(const std::filesystem::path& directory, std::int64_t keep,
                            std::int64_t just_written);

}  // namespace tenax::resilience
