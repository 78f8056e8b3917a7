// Works through blocks that fit the first-level cache: a block is summed in an array of its own, so memory is
// read and written once however many ranks there are.
#include "comm/shared_memory/chunk_engine.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "kernels/tensor.hpp"

namespace tenax::comm {
namespace {

using kernels::bf16_t;
using kernels::DType;
using kernels::widen;

constexpr std::int64_t kBlock = 1024;

float widen(float x) { return x; }
double widen(double x) { return x; }

template <class T>
struct Narrow {
  static T from(T x) { return x; }
};
template <>
struct Narrow<bf16_t> {
  static bf16_t from(float x) { return kernels::to_bf16(x); }
};

template <class T, class Sum>
void combine(Sum* __restrict sum, const T* __restrict x, std::int64_t count, ReduceOp op) {
  if (op == ReduceOp::sum)
    for (std::int64_t i = 0; i < count; ++i) sum[i] += widen(x[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) sum[i] = widen(x[i]) > sum[i] ? widen(x[i]) : sum[i];
}

/// The common case of two ranks, in one pass. `destination` may be `a` or `b`: each element is read before it
/// is written, which is what ivdep promises.
template <class T>
void add_two(const T* a, const T* b, T* destination, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) destination[i] = Narrow<T>::from(widen(a[i]) + widen(b[i]));
}

template <class T>
void reduce_block(ReduceOp op, std::span<const void* const> contributions, T* destination, std::int64_t begin,
                  std::int64_t count) {
  std::array<decltype(widen(T{})), kBlock> sum;
  const T* __restrict first = static_cast<const T*>(contributions[0]) + begin;
  for (std::int64_t i = 0; i < count; ++i) sum[i] = widen(first[i]);
  for (const void* contribution : contributions.subspan(1))
    combine(sum.data(), static_cast<const T*>(contribution) + begin, count, op);
  for (std::int64_t i = 0; i < count; ++i) destination[i] = Narrow<T>::from(sum[i]);
}

template <class T>
void reduce(ReduceOp op, std::span<const void* const> contributions, T* destination, T* copy,
            std::int64_t elements) {
  for (std::int64_t begin = 0; begin < elements; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - begin);
    if (op == ReduceOp::sum && contributions.size() == 2)
      add_two(static_cast<const T*>(contributions[0]) + begin,
              static_cast<const T*>(contributions[1]) + begin, destination + begin, count);
    else
      reduce_block(op, contributions, destination + begin, begin, count);
    if (copy != nullptr) std::copy_n(destination + begin, count, copy + begin);
  }
}

// Compiled for each of these processors, of which the dynamic linker chooses.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TENAX_FOR_EACH_PROCESSOR \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TENAX_FOR_EACH_PROCESSOR
#endif

}  // namespace

TENAX_FOR_EACH_PROCESSOR
void reduce_slices(DType dtype, ReduceOp op, std::span<const void* const> contributions, void* destination,
                   void* copy, std::int64_t elements) {
  switch (dtype) {
    case DType::f32:
      return reduce(op, contributions, static_cast<float*>(destination), static_cast<float*>(copy), elements);
    case DType::f64:
      return reduce(op, contributions, static_cast<double*>(destination), static_cast<double*>(copy),
                    elements);
    case DType::bf16:
      return reduce(op, contributions, static_cast<bf16_t*>(destination), static_cast<bf16_t*>(copy),
                    elements);
    case DType::i32:
      break;
  }
  assert(!"sums are of f32, f64 and bf16 only");
}

}  // namespace tenax::comm
