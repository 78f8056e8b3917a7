// Token files in words, for `tenax inspect`.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// Whether `file` is a .bin, Megatron's .idx, or an HDF5 file without a checkpoint's seal. False if
/// it cannot be read.
bool may_be_token_file(const std::filesystem::path& file);

/// Reads all tokens. For a .h5 it verifies the checksum, and lists tokenizer, tokens, documents and
/// texts. For a .bin it lists format, tokens, the largest token, and documents if there is an
/// index, which it verifies. For a .idx it describes the .bin. Throws Error(rank) that names the
/// file if it is damaged or another program's.
std::string describe_token_file(const std::filesystem::path& file);

}  // namespace tenax::io
