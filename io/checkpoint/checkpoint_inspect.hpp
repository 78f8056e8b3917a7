// `tenax inspect`: a checkpoint, a run directory or a token file, in words.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// Describes a file or directory for `tenax inspect`. For a checkpoint it verifies the seal and
/// each tensor's checksum, then lists step, model, outliers and tensors. For a run directory it calls
/// summarise_run(), for a token file describe_token_file(). Throws kernels::Error(rank) if the path
/// is damaged or none of these.
std::string inspect(const std::filesystem::path& path);

/// Reads a checkpoint completely: seal, structure, and each dataset's checksum attribute.
void verify_checkpoint(const std::filesystem::path& file);

}  // namespace tenax::io
