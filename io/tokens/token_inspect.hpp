// Token files in words, for `tenax inspect`.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// Whether `file` is a .bin, Megatron's .idx or an HDF5 file that, unlike a checkpoint, has no seal before it. False if it cannot be read.
bool may_be_token_file(const std::filesystem::path& file);

/// Reads all tokens. A .h5: verifies the checksum, then lists tokenizer, tokens, documents and texts. A .bin: its
/// format, tokens and the largest of them, and the documents of an index, all entries of which are looked at; a .idx: the
/// .bin that it belongs to. Throws Error(rank) naming the file if it is damaged or another's.
std::string describe_token_file(const std::filesystem::path& file);

}  // namespace tenax::io
