// Tensors in safetensors files, read and written as float.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/hugging_face/safetensors_header.hpp"
#include "io/posix_file.hpp"

namespace tenax::io {

/// An open file whose header has been checked. Used by one thread at a time. Reads by position and not by a
/// memory map: a file cut short meanwhile is an error and not a SIGBUS.
class SafetensorsReader {
 public:
  /// Throws kernels::Error(rank): absent, or a header that is invalid or lies.
  explicit SafetensorsReader(const std::filesystem::path& file);
  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }  ///< by place
  /// Elements [begin, begin + values.size()) of the flattened tensor. F32, F16 and BF16 exactly, F64 rounded;
  /// other types throw kernels::Error(rank).
  void read(const SafetensorsEntry& entry, std::int64_t begin, std::span<float> values) const;

 private:
  PosixFile file_;
  std::int64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
};

/// A file under construction: tensors in the order given, their values appended piece by piece. Appears
/// complete by publish(), or not at all.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
  };
  /// `dtype`: F32, F16 or BF16; rounds to nearest. Reserves the whole space: a full disk throws
  /// kernels::Error(rank) here.
  SafetensorsWriter(const std::filesystem::path& target, const std::vector<Tensor>& tensors,
                    const std::string& dtype);
  /// The next values. Throws kernels::Error(rank) at a finite value that is too large for F16.
  void append(std::span<const float> values);
  void publish();  ///< every value has been appended

 private:
  AtomicFile file_;
  std::string dtype_;
  std::int64_t at_ = 0, end_ = 0;  ///< bytes of the file
};

}  // namespace tenax::io
