// ChunkArithmetic: adds and copies the chunks of a bucket where the bucket lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/device.hpp"
#include "kernels/tensor.hpp"

namespace tenax::comm {

/// fp32 values travel as they are, or rounded to bf16 (to nearest even). fp64 always travels as it
/// is.
enum class WireType { fp32, bf16 };

inline bool is_rounded_on(WireType wire, kernels::DType dtype) {
  return wire == WireType::bf16 && dtype == kernels::DType::f32;
}
/// What `values` take there.
inline std::size_t wire_bytes(WireType wire, const kernels::Tensor& values) {
  return is_rounded_on(wire, values.dtype) ? values.bytes() / 2 : values.bytes();
}

/// How a chunk's values have come.
enum class ChunkForm {
  as_is,     ///< in the bucket's type
  bf16,      ///< fp32 values, as bf16
  unrounded  ///< fp32 values that are to be rounded to bf16 first: they are read where they lie
};

/// By the device's kernels, on a stream of its own: beside those that compute. Only what has come
/// is ever launched, so that no kernel waits for the network. Thread rule: one thread. Calls return
/// when the result is in memory; where the device fails they throw Error(rank).
class ChunkArithmetic {
 public:
  struct Sum {
    kernels::Tensor own, result;  ///< of equal size, not overlapping
    const void* incoming = nullptr;
    ChunkForm form = ChunkForm::as_is;
    bool is_rounded = false;  ///< the result is rounded to bf16, as all other ranks are going to see it
  };
  /// `device` must outlive it.
  explicit ChunkArithmetic(kernels::Device& device);
  ~ChunkArithmetic();

  /// result = own + incoming. The addition is in the bucket's type.
  void add(const Sum& sum);
  /// result = incoming.
  void copy(const void* incoming, ChunkForm form, const kernels::Tensor& result);
  /// What is sent of `values`: wire_bytes() of them.
  void pack(const kernels::Tensor& values, WireType wire, std::span<std::byte> bytes);
  /// Memory for packed and incoming chunks, which connections send from and receive into.
  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes);
  /// Whether connections can send from buckets and receive into them, without pack() and copy().
  bool is_host_memory() const;

 private:
  void finish();

  std::unique_ptr<kernels::Device> cpu_;  // beside a device without data: some buckets have data all the same
  kernels::Device& device_;
  std::unique_ptr<kernels::Stream> stream_;
};

}  // namespace tenax::comm
