// What a .bin of tokens is: raw numbers, llm.c's or Megatron's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/tokens/token_file.hpp"

namespace tenax::io {

struct TokenBin {
  TokenPieces pieces;
  std::string format;           ///< "raw little-endian uint16", "llm.c's, uint32", "Megatron's, int32"
  std::int64_t documents = -1;  ///< -1: the file does not say
};

/// With Megatron's index beside it (NAME.idx), what that says; with llm.c's header, what that says; else raw little-endian
/// uint16. Looks at headers and at the first MiB alone. Throws kernels::Error(rank) naming the file, and what to do, if
/// header or index does not suit the file, and for raw numbers that must be int32: every second uint16 is 0.
TokenBin read_token_bin(const std::filesystem::path& file);

}  // namespace tenax::io
