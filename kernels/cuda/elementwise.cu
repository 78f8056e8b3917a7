// Bytes moved through device memory, per element of bf16: residual_add, add and maximum 6; cast between bf16 and fp32 6;
// zero 2; copy 4.
#include "kernels/cuda/operations.hpp"

#include "kernels/cuda/elementwise_launch.cuh"

namespace tenax::kernels::cuda {
namespace {

// destination = combine(source, destination).
template <class Combine>
void combine(cudaStream_t stream, const Tensor& source, const Tensor& destination, const char* name) {
  assert(source.dtype == destination.dtype && source.size() == destination.size());
  with_type(source.dtype, [&](auto type) {
    using T = decltype(type);
    const Combination<T, Combine> op{source.as<T>(), destination.as<T>(), destination.as<T>()};
    launch_elementwise(stream, op, source.size(), are_aligned(op.a, op.b), name);
  });
}

bool is_pinned_host(const void* memory) {
  cudaPointerAttributes attributes;
  TENAX_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeHost;
}

template <class Word>
void copy_words(cudaStream_t stream, const Tensor& source, const Tensor& destination) {
  const Copy<Word> op{static_cast<const Word*>(source.data), static_cast<Word*>(destination.data)};
  launch_elementwise(stream, op, static_cast<std::int64_t>(source.bytes() / sizeof(Word)),
                     are_aligned(op.from, op.to), "copy");
}

template <class From>
void load_casts() {
  for_each_type([](auto to) {
    if constexpr (!std::is_same_v<From, decltype(to)>) load_elementwise<Cast<From, decltype(to)>>();
  });
}

}  // namespace

void load_elementwise_kernels() {
  load_elementwise<Copy<std::uint16_t>>();
  load_elementwise<Copy<std::uint32_t>>();
  for_each_type([](auto type) {
    using T = decltype(type);
    load_casts<T>();
    load_elementwise<Combination<T, Sum>>();
    load_elementwise<Combination<T, Maximum>>();
    load_elementwise<ResidualSum<T>>();
  });
}

void zero(cudaStream_t stream, Tensor destination) {
  if (destination.size() == 0) return;
  TENAX_CUDA_CHECK(cudaMemsetAsync(destination.data, 0, destination.bytes(), stream));
}

void copy(cudaStream_t stream, Tensor source, Tensor destination) {
  assert(source.dtype == destination.dtype && source.size() == destination.size());
  if (source.size() == 0 || source.data == destination.data) return;
  // Between two places of the host cudaMemcpyAsync waits for all that the stream was given: for ever, where that waits for us.
  if (is_pinned_host(destination.data) && is_pinned_host(source.data))
    return source.dtype == DType::bf16 ? copy_words<std::uint16_t>(stream, source, destination)
                                       : copy_words<std::uint32_t>(stream, source, destination);
  TENAX_CUDA_CHECK(cudaMemcpyAsync(destination.data, source.data, source.bytes(), cudaMemcpyDefault, stream));
}

void cast(cudaStream_t stream, Tensor source, Tensor destination) {
  assert(source.size() == destination.size());
  if (source.dtype == destination.dtype) return copy(stream, source, destination);
  with_type(source.dtype, [&](auto from) {
    with_type(destination.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      if constexpr (!std::is_same_v<From, To>)
        launch_elementwise(stream, Cast<From, To>{source.as<From>(), destination.as<To>()}, source.size(),
                           are_aligned(source.data, destination.data), "cast");
    });
  });
}

void add(cudaStream_t stream, Tensor source, Tensor destination) {
  combine<Sum>(stream, source, destination, "add");
}

void maximum(cudaStream_t stream, Tensor source, Tensor destination) {
  combine<Maximum>(stream, source, destination, "maximum");
}

void residual_add(cudaStream_t stream, const ResidualAddArgs& args) {
  assert(args.bias.size() == args.x.columns() && args.delta.size() == args.x.size());
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    const ResidualSum<T> op{args.x.as<T>(), args.delta.as<T>(), args.bias.as<T>(), args.out.as<T>(),
                            args.bias.size()};
    const bool packed = op.columns % kWidth == 0 && are_aligned(op.x, op.delta, op.bias, op.out);
    launch_elementwise(stream, op, args.x.size(), packed, "residual_add");
  });
}

}  // namespace tenax::kernels::cuda
