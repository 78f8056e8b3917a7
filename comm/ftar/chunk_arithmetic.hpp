// ChunkArithmetic: who adds and copies chunks. The CPU's is here; a GPU's launches kernels.
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

/// Thread rule: one thread. Calls return when the result is in memory.
class ChunkArithmetic {
 public:
  struct Sum {
    kernels::Tensor own, result;  ///< of equal size, not overlapping
    const void* incoming = nullptr;
    ChunkForm form = ChunkForm::as_is;
    bool is_rounded = false;  ///< the result is rounded to bf16, as all other ranks are going to see it
  };
  virtual ~ChunkArithmetic() = default;
  /// result = own + incoming. The addition is in the bucket's type.
  virtual void add(const Sum& sum) = 0;
  /// result = incoming.
  virtual void copy(const void* incoming, ChunkForm form, const kernels::Tensor& result) = 0;
  /// What is sent of `values`: wire_bytes() of them.
  virtual void pack(const kernels::Tensor& values, WireType wire, std::span<std::byte> bytes) = 0;
  /// Memory for packed and incoming chunks, which connections send from and receive into.
  virtual std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes) = 0;
  /// Whether connections can send from buckets and receive into them, without pack() and copy().
  virtual bool is_host_memory() const = 0;
};

/// On the processor, for devices whose memory the host can read (or that have no data). `device` must
/// outlive it.
std::unique_ptr<ChunkArithmetic> create_host_chunk_arithmetic(kernels::Device& device);

}  // namespace tenax::comm
