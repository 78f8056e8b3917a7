// The header of a safetensors file: its length in 8 bytes, little-endian, then JSON with each
// tensor's type, shape and place. Format: https://github.com/huggingface/safetensors.
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

/// The bytes of an element of `dtype`; 0 if there is no such type.
std::int64_t bytes_of_dtype(std::string_view dtype);

/// "[2, 3]"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The entries by increasing place. Throws kernels::Error(rank) that names `file` if the JSON is
/// invalid: duplicate or unknown names, lengths other than type × shape, places that overlap, leave
/// holes or exceed `data_bytes`.
std::vector<SafetensorsEntry> parse_safetensors_header(const std::string& json, std::int64_t data_bytes,
                                                       const std::filesystem::path& file);

/// The length and the JSON of `entries`, padded with blanks to a multiple of 8.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries);

[[noreturn]] void refuse_safetensors(const std::filesystem::path& file, const std::string& why);

}  // namespace tenax::io
