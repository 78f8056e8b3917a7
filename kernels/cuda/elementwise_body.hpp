// Operations that treat each element on its own. Each has read<kCount>(at), which only reads,
// write<kCount>(at, what read gave), and kMayPack: whether eight elements at a time exist. apply_to_slice()
// puts them together.
#pragma once

#include "kernels/cuda/gelu_body.hpp"
#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// x + (delta + bias), as stored: one order and rounding, alone and fused with a norm.
template <class T, int kCount>
TENAX_HOST_DEVICE Raw<T, kCount> residual_sum(const Raw<T, kCount>& x, const Raw<T, kCount>& delta,
                                              const T* bias) {
  auto sum = widened(x);
  const auto d = widened(delta), b = load<kCount>(bias);
  TENAX_UNROLL
  for (int i = 0; i < kCount; ++i) sum.at[i] += d.at[i] + b.at[i];
  return narrowed<T>(sum);
}

/// Elements of a block of threads.
inline constexpr std::int64_t kSlice = 8192;

template <class T, int kCount>
struct TwoRaws {
  Raw<T, kCount> a, b;
};

/// Elements [begin, end), kCount at a time and the rest one by one.
template <int kCount, class Group, class Op>
TENAX_HOST_DEVICE void apply_to_slice(Group group, const Op& op, std::int64_t begin, std::int64_t end) {
  constexpr int kReadsUnderWay = 4;
  const std::int64_t packed = (end - begin) / kCount * kCount;
  for_packs<kCount, kReadsUnderWay>(
      group, packed, [&](std::int64_t at) { return op.template read<kCount>(begin + at); },
      [&](std::int64_t at, const auto& raw) { op.template write<kCount>(begin + at, raw); });
  for (std::int64_t at = begin + packed + group.rank(); at < end; at += group.size())
    op.template write<1>(at, op.template read<1>(at));
}

/// y = gelu(x).
template <class T>
struct GeluForward {
  static constexpr bool kMayPack = sizeof(T) <= 4;
  const T* x;
  T* y;

  template <int kCount>
  TENAX_HOST_DEVICE Raw<T, kCount> read(std::int64_t at) const {
    return load_raw<kCount>(x + at);
  }
  template <int kCount>
  TENAX_HOST_DEVICE void write(std::int64_t at, const Raw<T, kCount>& raw) const {
    auto value = widened(raw);
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) value.at[i] = Gelu<T>::value(value.at[i]);
    store(y + at, value);
  }
};

/// result = combine(a, b), element by element; result may be the memory of either.
template <class T, class Combine>
struct Combination {
  static constexpr bool kMayPack = sizeof(T) <= 4;
  const T *a, *b;
  T* result;

  template <int kCount>
  TENAX_HOST_DEVICE TwoRaws<T, kCount> read(std::int64_t at) const {
    return {load_raw<kCount>(a + at), load_raw<kCount>(b + at)};
  }
  template <int kCount>
  TENAX_HOST_DEVICE void write(std::int64_t at, const TwoRaws<T, kCount>& raws) const {
    auto value = widened(raws.a);
    const auto other = widened(raws.b);
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) value.at[i] = Combine::of(value.at[i], other.at[i]);
    store(result + at, value);
  }
};

struct Sum {
  template <class A>
  static TENAX_HOST_DEVICE A of(A a, A b) {
    return a + b;
  }
};
struct Maximum {
  template <class A>
  static TENAX_HOST_DEVICE A of(A a, A b) {
    return a > b ? a : b;
  }
};
/// d_x from x and d_y.
template <class T>
struct GeluGradient {
  static TENAX_HOST_DEVICE Accumulator<T> of(Accumulator<T> x, Accumulator<T> d_y) {
    return d_y * Gelu<T>::slope(x);
  }
};

/// to = from, where the copy engines would make the host wait (copy() in elementwise.cu).
template <class T>
struct Copy {
  static constexpr bool kMayPack = sizeof(T) <= 4;
  const T* from;
  T* to;

  template <int kCount>
  TENAX_HOST_DEVICE Raw<T, kCount> read(std::int64_t at) const {
    return load_raw<kCount>(from + at);
  }
  template <int kCount>
  TENAX_HOST_DEVICE void write(std::int64_t at, const Raw<T, kCount>& raw) const {
    store_raw(to + at, raw);
  }
};

/// to = from, in another type.
template <class From, class To>
struct Cast {
  static constexpr bool kMayPack = sizeof(From) <= 4 && sizeof(To) <= 4;
  const From* from;
  To* to;

  template <int kCount>
  TENAX_HOST_DEVICE Raw<From, kCount> read(std::int64_t at) const {
    return load_raw<kCount>(from + at);
  }
  template <int kCount>
  TENAX_HOST_DEVICE void write(std::int64_t at, const Raw<From, kCount>& raw) const {
    store(to + at, widened(raw));
  }
};

/// What a chunk exchanged between replicas adds up to: result = own + incoming, either rounded to bf16 where told.
template <class T, class Incoming>
struct ChunkSum {
  static constexpr bool kMayPack = sizeof(T) <= 4;
  const T* own;
  const Incoming* incoming;
  T* result;
  bool rounds_incoming, rounds_result;

  template <int kCount>
  struct Raws {
    Raw<T, kCount> own;
    Raw<Incoming, kCount> incoming;
  };
  template <int kCount>
  TENAX_HOST_DEVICE Raws<kCount> read(std::int64_t at) const {
    return {load_raw<kCount>(own + at), load_raw<kCount>(incoming + at)};
  }
  template <int kCount>
  TENAX_HOST_DEVICE void write(std::int64_t at, const Raws<kCount>& raws) const {
    auto sum = widened(raws.incoming);
    if (rounds_incoming) sum = rounded(sum);
    sum = widened(raws.own) + sum;
    store(result + at, rounds_result ? rounded(sum) : sum);
  }

 private:
  template <class A, int kCount>
  static TENAX_HOST_DEVICE Pack<A, kCount> rounded(const Pack<A, kCount>& values) {
    if constexpr (sizeof(A) == 4)
      return widened(narrowed<bf16_t>(values));
    else
      return values;
  }
};

/// out = x + (delta + bias[at mod columns]): columns a multiple of 8 where elements are taken together.
template <class T>
struct ResidualSum {
  static constexpr bool kMayPack = sizeof(T) <= 4;
  const T *x, *delta, *bias;
  T* out;
  std::int64_t columns;

  template <int kCount>
  TENAX_HOST_DEVICE TwoRaws<T, kCount> read(std::int64_t at) const {
    return {load_raw<kCount>(x + at), load_raw<kCount>(delta + at)};
  }
  template <int kCount>
  TENAX_HOST_DEVICE void write(std::int64_t at, const TwoRaws<T, kCount>& raws) const {
    store_raw(out + at, residual_sum(raws.a, raws.b, bias + at % columns));
  }
};

}  // namespace tenax::kernels::cuda
