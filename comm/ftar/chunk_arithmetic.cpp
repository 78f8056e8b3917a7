#include "comm/ftar/chunk_arithmetic.hpp"

#include <cassert>
#include <cstring>

#include "kernels/cpu/element.hpp"

namespace tenax::comm {
namespace {

using kernels::bf16_t;
using kernels::DType;
using kernels::Tensor;
using kernels::to_bf16;
using kernels::widen;

float rounded(float value) { return widen(to_bf16(value)); }
float rounded_or_widened(bf16_t value) { return widen(value); }
float rounded_or_widened(float value) { return rounded(value); }

template <class T>
void add(const T* __restrict own, const T* __restrict incoming, T* __restrict result, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) result[i] = own[i] + incoming[i];
}

/// Of a float that is rounded first, or a bf16_t.
template <class Incoming>
void add_rounded(const float* __restrict own, const Incoming* __restrict incoming, float* __restrict result,
                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) result[i] = own[i] + rounded_or_widened(incoming[i]);
}

template <class Incoming>
void add_and_round(const float* __restrict own, const Incoming* __restrict incoming, float* __restrict result,
                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) result[i] = rounded(own[i] + rounded_or_widened(incoming[i]));
}

template <class Incoming>
void add_fp32(const ChunkArithmetic::Sum& sum, const Incoming* incoming) {
  const auto* own = sum.own.as<const float>();
  auto* result = sum.result.as<float>();
  if (sum.is_rounded)
    add_and_round(own, incoming, result, sum.own.size());
  else
    add_rounded(own, incoming, result, sum.own.size());
}

class HostChunkArithmetic final : public ChunkArithmetic {
 public:
  explicit HostChunkArithmetic(kernels::Device& device) : device_(device) {}

  void add(const Sum& sum) override {
    assert(sum.own.size() == sum.result.size() && sum.own.dtype == sum.result.dtype);
    if (sum.own.dtype == DType::f64)
      return comm::add(sum.own.as<const double>(), static_cast<const double*>(sum.incoming),
                       sum.result.as<double>(), sum.own.size());
    if (sum.form == ChunkForm::as_is)
      return comm::add(sum.own.as<const float>(), static_cast<const float*>(sum.incoming),
                       sum.result.as<float>(), sum.own.size());
    if (sum.form == ChunkForm::bf16) return add_fp32(sum, static_cast<const bf16_t*>(sum.incoming));
    add_fp32(sum, static_cast<const float*>(sum.incoming));
  }

  void copy(const void* incoming, ChunkForm form, const Tensor& result) override {
    if (form != ChunkForm::bf16) {
      std::memcpy(result.data, incoming, result.bytes());  // a complete sum is rounded already
      return;
    }
    const auto* from = static_cast<const bf16_t*>(incoming);
    auto* const to = result.as<float>();
    for (std::int64_t i = 0; i < result.size(); ++i) to[i] = widen(from[i]);
  }

  void pack(const Tensor& values, WireType wire, std::span<std::byte> bytes) override {
    assert(bytes.size() == wire_bytes(wire, values));
    if (!is_rounded_on(wire, values.dtype)) {
      std::memcpy(bytes.data(), values.data, bytes.size());
      return;
    }
    const auto* from = values.as<const float>();
    auto* const to = reinterpret_cast<bf16_t*>(bytes.data());
    for (std::int64_t i = 0; i < values.size(); ++i) to[i] = to_bf16(from[i]);
  }

  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes) override {
    return device_.allocate(bytes, kernels::MemoryKind::pinned_host);
  }
  bool is_host_memory() const override { return true; }

 private:
  kernels::Device& device_;
};

}  // namespace

std::unique_ptr<ChunkArithmetic> create_host_chunk_arithmetic(kernels::Device& device) {
  return std::make_unique<HostChunkArithmetic>(device);
}

}  // namespace tenax::comm
