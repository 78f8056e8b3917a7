// The HDF5 side of a checkpoint: the whole file except the tensors' elements and the seal.
#pragma once

#include <cstdint>
#include <filesystem>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/posix_file.hpp"

namespace tenax::io {

/// The newest format that this tenax reads. 1 says nothing of the origin and has text of variable
/// length; 2 has AdamW's moments; 3 has others. It writes 2 or 3.
inline constexpr int kCheckpointFormat = 3;

/// What the tensors of `info`'s parameters take: nearly all of the file.
std::int64_t bytes_of_tensors(const CheckpointInfo& info);

/// Creates `file` (messages name `target`, its later name; emptied if it exists) with groups, attributes, and a dataset of reserved space
/// for every tensor, from `info`'s step, next_sample, model, origin, deck and parameters with final
/// checksums. Returns `info` with offsets, file_bytes and metadata_checksum. Throws
/// kernels::Error(rank): disk full, directory not writable.
CheckpointInfo create_checkpoint_file(const std::filesystem::path& file, const std::filesystem::path& target,
                                      CheckpointInfo info);

/// The reverse. Call only after the seal has been verified. Throws kernels::Error(rank) if the
/// file's format is another one, or if what it says cannot be (io/checkpoint/checkpoint_check.hpp).
CheckpointInfo read_checkpoint_info(const std::filesystem::path& file);
/// Of an open file, also where its name is gone.
CheckpointInfo read_checkpoint_info(const PosixFile& open);

/// Writes the seal, fsyncs, renames to `target` and makes the name durable. `data_checksum` is the
/// sum of RangeWriter::checksum() over all ranks.
void seal_checkpoint(const std::filesystem::path& file, const CheckpointInfo& info,
                     std::uint64_t data_checksum, const std::filesystem::path& target);

}  // namespace tenax::io
