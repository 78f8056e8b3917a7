// The header of a safetensors file: 8 bytes little-endian length, then JSON naming each tensor's type, shape
// and place. Format: https://github.com/huggingface/safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;                ///< "F32", "BF16", "I64", …
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::int64_t begin = 0, end = 0;  ///< bytes, within the data that follow the header
  std::int64_t elements() const;
};

/// Bytes an element of `dtype`; 0 if there is no such type.
std::int64_t bytes_of_dtype(std::string_view dtype);

/// "[2, 3]"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// By increasing place. Throws kernels::Error(rank), naming `file`, if the JSON is invalid or lies: duplicate
/// or unknown names, places that overlap, leave holes or lie outside of the `data_bytes`, lengths that are
/// not type × shape.
std::vector<SafetensorsEntry> parse_safetensors_header(const std::string& json, std::int64_t data_bytes,
                                                       const std::filesystem::path& file);

/// Length and JSON, padded with blanks to a multiple of 8. Entries as they will be read.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries);

[[noreturn]] void refuse_safetensors(const std::filesystem::path& file, const std::string& why);

}  // namespace tenax::io
