// Tensors in safetensors files, read and written as float.
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/hugging_face/safetensors_header.hpp"
#include "io/posix_file.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {

/// The 16-bit formats of files, as bits, from and to float. Rounding is to nearest, ties to even.
inline float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    return static_cast<std::uint16_t>(bits >> 16 | 0x40U);  // stays a NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

float float_of_half(std::uint16_t bits);
/// A value that is too large becomes infinite.
std::uint16_t half_of_float(float value);

/// An open file with a checked header. Used by one thread at a time. Not a memory map: a file that
/// is cut short meanwhile is an error and not a SIGBUS.
class SafetensorsReader {
 public:
  /// Throws kernels::Error(rank) if the file is absent, or if its header is invalid or contradicts
  /// the file.
  explicit SafetensorsReader(const std::filesystem::path& file);
  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }  ///< by place
  /// Reads elements [begin, begin + values.size()) of the flattened tensor. F32, F16 and BF16 are
  /// exact, F64 is rounded. Other types throw kernels::Error(rank).
  void read(const SafetensorsEntry& entry, std::int64_t begin, std::span<float> values) const;

 private:
  PosixFile file_;
  std::int64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
};

/// A file under construction. Its tensors have the order given; their values are appended piece by
/// piece. publish() makes the complete file appear.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
  };
  /// `dtype` is F32, F16 or BF16; rounds to nearest. Reserves the whole space: a full disk throws
  /// kernels::Error(rank) here.
  SafetensorsWriter(const std::filesystem::path& target, const std::vector<Tensor>& tensors,
                    const std::string& dtype);
  /// Appends the next values. Throws kernels::Error(rank) at a finite value that is too large for
  /// F16.
  void append(std::span<const float> values);
  /// As AtomicFile's. Every value has been appended.
  std::pair<std::filesystem::path, std::filesystem::path> sync() const;
  void publish();

 private:
  AtomicFile file_;
  std::string dtype_;
  std::int64_t at_ = 0, end_ = 0;  ///< bytes of the file
};

}  // namespace tenax::io
