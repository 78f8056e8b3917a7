// Checkpoints of one process, for tools: the same file as many ranks write and read together.
#pragma once

#include <filesystem>
#include <span>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/posix_file.hpp"

namespace tenax::io {

/// Verifies every byte, then reads the checkpoint's info. Throws kernels::Error(rank).
CheckpointInfo open_checkpoint(const std::filesystem::path& file);

/// A checkpoint of which every byte has been verified. As it is open, it can be read also where a
/// run removes it meanwhile.
struct VerifiedCheckpoint {
  PosixFile file;
  CheckpointInfo info;
};
/// As open_checkpoint().
VerifiedCheckpoint open_verified_checkpoint(const std::filesystem::path& file);

/// Fills the ranges from an opened checkpoint. Padding becomes zero, and so do parts that it does
/// not have.
void read_checkpoint(const PosixFile& file, const CheckpointInfo& info, std::span<const StateRange> ranges);
void read_checkpoint(const std::filesystem::path& file, const CheckpointInfo& info,
                     std::span<const StateRange> ranges);

/// Writes `ranges`, which cover every parameter, beside `target` and renames. `info` gives step,
/// model and deck.
void write_checkpoint(const std::filesystem::path& target, CheckpointInfo info,
                      std::span<const StateRange> ranges);

}  // namespace tenax::io
