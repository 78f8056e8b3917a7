// Tokens that are made up, and those of a file, for tests of token files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/tokens/token_file.hpp"

namespace tenax::io::test {

using Tokens = std::vector<std::int32_t>;

/// 0, 1, 2 … modulo `period`.
inline Tokens periodic(std::size_t count, std::int32_t period) {
  Tokens tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>(i) % period;
  return tokens;
}

/// All tokens of a file, none of which may reach 2^20.
inline Tokens all_of(const std::filesystem::path& path) {
  const auto file = TokenFile::open(path, "bytes", {.seq_length = 0, .vocab_size = 1 << 20, .scan = true});
  Tokens tokens(static_cast<std::size_t>(file->size()));
  file->read(0, tokens);
  return tokens;
}

}  // namespace tenax::io::test
