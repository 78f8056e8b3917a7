// Formats of a .bin of tokens: raw numbers, llm.c's, or Megatron-LM's with its index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "io/tokens/token_hdf5.hpp"

namespace tenax::io {

struct TokenBin {
  TokenPieces pieces;
  std::string format;           ///< "raw little-endian uint16", "llm.c's, uint32", "Megatron's, int32"
  std::int64_t documents = -1;  ///< -1: the file does not say
};

/// Follows Megatron's index beside the file (NAME.idx), or llm.c's header; without either the file
/// is raw little-endian uint16. Reads headers and the first MiB alone. Throws kernels::Error(rank),
/// with a remedy, if header or index does not suit the file, and for raw numbers that must be of 32
/// bits: every second uint16 is 0, or, for a vocabulary that needs more than 16 bits (`vocab_size`; 0:
/// not known), of thousands each is below 64 though others are not.
TokenBin read_token_bin(const std::filesystem::path& file, std::int64_t vocab_size = 0);

/// The content of Megatron-LM's index of a .bin.
struct MegatronIndex {
  std::string dtype;  ///< "uint8", "uint16" or "int32"
  std::size_t bytes_per_token = 0;
  std::int64_t tokens = 0, sequences = 0, documents = 0;
};

/// NAME.idx, for NAME.bin.
std::filesystem::path megatron_index_of(const std::filesystem::path& bin);

/// Reads the index of a .bin of `bin_bytes` bytes: its header, and the first and last entries of
/// its tables. Throws kernels::Error(rank) that names the index if it is malformed, holds another
/// type, or is another file's.
MegatronIndex read_megatron_index(const std::filesystem::path& index, std::int64_t bin_bytes);

/// Checks every entry: sequences without hole or overlap, documents in order. Throws as
/// read_megatron_index().
void verify_megatron_index(const std::filesystem::path& index, std::int64_t bin_bytes);

}  // namespace tenax::io
