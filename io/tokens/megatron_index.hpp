// Megatron-LM's index of a .bin of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace tenax::io {

struct MegatronIndex {
  std::string dtype;  ///< "uint8", "uint16" or "int32"
  std::size_t bytes_per_token = 0;
  std::int64_t tokens = 0, sequences = 0, documents = 0;
};

/// NAME.idx, for NAME.bin.
std::filesystem::path megatron_index_of(const std::filesystem::path& bin);

/// What the index says of a .bin of `bin_bytes` bytes: its header, and the first and last entries of its tables, are looked
/// at. Throws kernels::Error(rank) naming the index if it is none, holds another type, or is not this file's.
MegatronIndex read_megatron_index(const std::filesystem::path& index, std::int64_t bin_bytes);

/// Looks at every entry: sequences that follow each other without hole or overlap, documents in order. Throws as above.
void verify_megatron_index(const std::filesystem::path& index, std::int64_t bin_bytes);

}  // namespace tenax::io
