// `tenax inspect`: a checkpoint, a run directory or a token file, in words.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// A checkpoint: verifies the seal and every tensor's checksum, then lists step, model and tensors. A run
/// directory: how it ended, its last metrics, its checkpoints (names only). A token file: io/tokens/token_inspect.hpp.
/// Throws kernels::Error(rank) if it is none of them or damaged.
std::string inspect(const std::filesystem::path& path);

/// Reads a checkpoint completely: seal, structure, and each dataset's checksum attribute.
void verify_checkpoint(const std::filesystem::path& file);

}  // namespace tenax::io
