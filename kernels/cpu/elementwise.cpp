// Operations that treat each element on its own.
#include <cstring>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

constexpr std::int64_t kByteBlock = 256 << 10;

template <class From, class To>
void cast_block(const From* source, To* destination, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) destination[i] = narrow<To>(widen(source[i]));
}

template <class T>
void add_block(const T* source, T* destination, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i)
    destination[i] = narrow<T>(widen(destination[i]) + widen(source[i]));
}

template <class T>
void maximum_block(const T* source, T* destination, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = widen(source[i]), b = widen(destination[i]);
    destination[i] = a > b ? source[i] : destination[i];
  }
}

/// Calls block(from, to, count) for blocks of the two tensors' elements.
template <class Block>
void for_pairs(Stream& stream, const Tensor& source, const Tensor& destination, const Block block) {
  assert(source.dtype == destination.dtype && source.size() == destination.size());
  with_type(source.dtype, [&](auto type) {
    const auto* const from = source.as<decltype(type)>();
    auto* const to = destination.as<decltype(type)>();
    for_blocks(stream, source.size(), kElementBlock,
               [=](std::int64_t begin, std::int64_t end) { block(from + begin, to + begin, end - begin); });
  });
}

}  // namespace

void CpuKernels::zero(Stream& stream, Tensor destination) {
  std::byte* const bytes = destination.raw().data();
  for_blocks(stream, static_cast<std::int64_t>(destination.bytes()), kByteBlock,
             [=](std::int64_t begin, std::int64_t end) {
               std::memset(bytes + begin, 0, static_cast<std::size_t>(end - begin));
             });
}

void CpuKernels::copy(Stream& stream, Tensor source, Tensor destination) {
  assert(source.dtype == destination.dtype && source.size() == destination.size());
  if (source.data == destination.data) return;
  const std::byte* const from = source.raw().data();
  std::byte* const to = destination.raw().data();
  for_blocks(stream, static_cast<std::int64_t>(source.bytes()), kByteBlock,
             [=](std::int64_t begin, std::int64_t end) {
               std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
             });
}

void CpuKernels::cast(Stream& stream, Tensor source, Tensor destination) {
  assert(source.size() == destination.size());
  with_type(source.dtype, [&](auto source_type) {
    with_type(destination.dtype, [&](auto destination_type) {
      const auto* const from = source.as<decltype(source_type)>();
      auto* const to = destination.as<decltype(destination_type)>();
      for_blocks(stream, source.size(), kElementBlock, [=](std::int64_t begin, std::int64_t end) {
        cast_block(from + begin, to + begin, end - begin);
      });
    });
  });
}

void CpuKernels::add(Stream& stream, Tensor source, Tensor destination) {
  for_pairs(stream, source, destination,
            [](const auto* from, auto* to, std::int64_t count) { add_block(from, to, count); });
}

void CpuKernels::maximum(Stream& stream, Tensor source, Tensor destination) {
  for_pairs(stream, source, destination,
            [](const auto* from, auto* to, std::int64_t count) { maximum_block(from, to, count); });
}

void CpuKernels::residual_add(Stream& stream, const ResidualAddArgs& args) {
  const std::int64_t columns = args.x.columns();
  assert(args.bias.size() == columns && args.delta.size() == args.x.size());
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    const T *const x = args.x.as<T>(), *const delta = args.delta.as<T>(), *const bias = args.bias.as<T>();
    T* const out = args.out.as<T>();
    for_blocks(stream, args.x.rows(), kRowBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        residual_row(x + row * columns, delta + row * columns, bias, out + row * columns, columns);
    });
  });
}

}  // namespace tenax::kernels
