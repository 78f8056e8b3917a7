#include "comm/ftar/chunk_arithmetic.hpp"

#include <cassert>
#include <cstring>

#include "kernels/kernels.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

namespace {

constexpr double kLaunched_s = 60;  // a device that has not run a chunk's kernel by then is lost

Tensor as_wire(const void* bytes, DType dtype, std::int64_t count) {
  return {const_cast<void*>(bytes), dtype, {count}};
}
DType type_of(ChunkForm form, const Tensor& values) {
  return form == ChunkForm::bf16 ? DType::bf16 : values.dtype;
}

}  // namespace

ChunkArithmetic::ChunkArithmetic(kernels::Device& device)
    : cpu_(device.has_data() ? nullptr : kernels::create_cpu_device()),
      device_(cpu_ ? *cpu_ : device),
      stream_(device_.create_stream()) {}

ChunkArithmetic::~ChunkArithmetic() = default;

void ChunkArithmetic::add(const Sum& sum) {
  device_.kernels().chunk_sum(*stream_,
                              {.own = sum.own,
                               .incoming = as_wire(sum.incoming, type_of(sum.form, sum.own), sum.own.size()),
                               .result = sum.result,
                               .rounds_incoming = sum.form == ChunkForm::unrounded,
                               .rounds_result = sum.is_rounded});
  finish();
}

// A complete sum is rounded already.
void ChunkArithmetic::copy(const void* incoming, ChunkForm form, const Tensor& result) {
  device_.kernels().cast(*stream_, as_wire(incoming, type_of(form, result), result.size()), result);
  finish();
}

void ChunkArithmetic::pack(const Tensor& values, WireType wire, std::span<std::byte> bytes) {
  assert(bytes.size() == wire_bytes(wire, values));
  const DType dtype = is_rounded_on(wire, values.dtype) ? DType::bf16 : values.dtype;
  device_.kernels().cast(*stream_, values, as_wire(bytes.data(), dtype, values.size()));
  finish();
}

void ChunkArithmetic::finish() {
  if (device_.is_asynchronous()) stream_->synchronize(Deadline::after_s(kLaunched_s));
}

std::unique_ptr<kernels::Buffer> ChunkArithmetic::allocate(std::size_t bytes) {
  return device_.allocate(bytes, kernels::MemoryKind::pinned_host);
}

bool ChunkArithmetic::is_host_memory() const { return device_.is_host_memory(); }

}  // namespace tenax::comm
