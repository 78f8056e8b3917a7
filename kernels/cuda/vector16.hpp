// Eight elements at a time, or one: how own kernels read and write memory. Eight of bf16 are one 16-byte
// access, eight of fp32 two. Rows that cannot be read so (their length no multiple of 8, or not aligned) and
// fp64 are read one by one, by the same bodies.
#pragma once

#include <cstdint>

#include "kernels/cpu/element.hpp"
#include "kernels/cuda/group.hpp"

namespace tenax::kernels::cuda {

/// How many elements a thread moves together where memory allows.
inline constexpr int kWidth = 8;

#ifdef __CUDACC__
using Words16 = uint4;
#else
struct alignas(16) [[gnu::may_alias]] Words16 {
  std::uint32_t x, y, z, w;
};
#endif

/// kCount elements in registers, as they lie in memory: half the registers of a Pack where T is bf16.
template <class T, int kCount>
struct Raw {
  static_assert(kCount * sizeof(T) % 16 == 0 && sizeof(T) <= 4);
  Words16 words[kCount * sizeof(T) / 16];
};
template <class T>
struct Raw<T, 1> {
  T value;
};

/// kCount numbers in registers. Index it with constants only (unrolled loops), or it moves to local memory.
template <class A, int kCount>
struct Pack {
  A at[kCount];
};

template <class A, int kCount>
TENAX_HOST_DEVICE Pack<A, kCount> operator+(Pack<A, kCount> a, const Pack<A, kCount>& b) {
  TENAX_UNROLL
  for (int i = 0; i < kCount; ++i) a.at[i] += b.at[i];
  return a;
}

template <class A, int kCount>
TENAX_HOST_DEVICE A total_of(const Pack<A, kCount>& values) {
  A total = values.at[0];
  TENAX_UNROLL
  for (int i = 1; i < kCount; ++i) total += values.at[i];
  return total;
}

/// The kCount elements from `source`, which must be aligned to 16 bytes unless kCount is 1.
template <int kCount, class T>
TENAX_HOST_DEVICE Raw<T, kCount> load_raw(const T* source) {
  Raw<T, kCount> raw;
  if constexpr (kCount == 1) {
    raw.value = *source;
  } else {
    constexpr int kWords = sizeof(raw.words) / 16;
    TENAX_UNROLL
    for (int i = 0; i < kWords; ++i) raw.words[i] = reinterpret_cast<const Words16*>(source)[i];
  }
  return raw;
}

/// `word`: a float, or two bf16, the first in the low half.
template <class T>
TENAX_HOST_DEVICE void widen_word(std::uint32_t word, float* to) {
  if constexpr (sizeof(T) == 2) {
    to[0] = std::bit_cast<float>(word << 16);
    to[1] = std::bit_cast<float>(word & 0xffff0000u);
  } else {
    to[0] = std::bit_cast<float>(word);
  }
}

template <class T>
TENAX_HOST_DEVICE std::uint32_t narrow_word(const float* from) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(from[0]);
  } else {
#ifdef __CUDA_ARCH__
    std::uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(from[1]), "f"(from[0]));
    return pair;
#else
    return to_bf16(from[0]).bits | static_cast<std::uint32_t>(to_bf16(from[1]).bits) << 16;
#endif
  }
}

template <class T, int kCount>
TENAX_HOST_DEVICE Pack<Accumulator<T>, kCount> widened(const Raw<T, kCount>& raw) {
  Pack<Accumulator<T>, kCount> result;
  if constexpr (kCount == 1) {
    result.at[0] = widen(raw.value);
  } else {
    constexpr int kWords = sizeof(raw.words) / 16, kPerWord = 4 / sizeof(T);
    TENAX_UNROLL
    for (int i = 0; i < kWords; ++i) {
      float* const to = result.at + i * 4 * kPerWord;
      widen_word<T>(raw.words[i].x, to);
      widen_word<T>(raw.words[i].y, to + kPerWord);
      widen_word<T>(raw.words[i].z, to + 2 * kPerWord);
      widen_word<T>(raw.words[i].w, to + 3 * kPerWord);
    }
  }
  return result;
}

/// Rounded to the nearest T.
template <class T, class A, int kCount>
TENAX_HOST_DEVICE Raw<T, kCount> narrowed(const Pack<A, kCount>& values) {
  Raw<T, kCount> raw;
  if constexpr (kCount == 1) {
    raw.value = narrow<T>(values.at[0]);
  } else {
    constexpr int kWords = sizeof(raw.words) / 16, kPerWord = 4 / sizeof(T);
    TENAX_UNROLL
    for (int i = 0; i < kWords; ++i) {
      const float* const from = values.at + i * 4 * kPerWord;
      raw.words[i] = {narrow_word<T>(from), narrow_word<T>(from + kPerWord),
                      narrow_word<T>(from + 2 * kPerWord), narrow_word<T>(from + 3 * kPerWord)};
    }
  }
  return raw;
}

template <int kCount, class T>
TENAX_HOST_DEVICE Pack<Accumulator<T>, kCount> load(const T* source) {
  return widened(load_raw<kCount>(source));
}

TENAX_HOST_DEVICE void store_words(Words16* destination, const Words16& words) {
#ifdef __CUDA_ARCH__
  // Plain assignments are split into four accesses of 4 bytes wherever the compiler loses sight of
  // the alignment.
  asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(destination), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w)
               : "memory");
#else
  *destination = words;
#endif
}

template <class T, int kCount>
TENAX_HOST_DEVICE void store_raw(T* destination, const Raw<T, kCount>& raw) {
  if constexpr (kCount == 1) {
    *destination = raw.value;
  } else {
    constexpr int kWords = sizeof(raw.words) / 16;
    TENAX_UNROLL
    for (int i = 0; i < kWords; ++i) store_words(reinterpret_cast<Words16*>(destination) + i, raw.words[i]);
  }
}

template <class T, class A, int kCount>
TENAX_HOST_DEVICE void store(T* destination, const Pack<A, kCount>& values) {
  store_raw(destination, narrowed<T>(values));
}

/// Visits the packs of kCount elements [at, at + kCount) of [0, columns) that are this thread's, kSlots at a
/// time: first load(slot, at) for each of them, then use(slot, at), so that kSlots reads are under way. What
/// load leaves in an array at [slot] stays in registers. columns: a multiple of kCount.
template <int kCount, int kSlots, class Group, class Load, class Use>
TENAX_HOST_DEVICE void for_slots(Group group, std::int64_t columns, const Load& load, const Use& use) {
  const std::int64_t step = static_cast<std::int64_t>(group.size()) * kCount;
  for (std::int64_t first = static_cast<std::int64_t>(group.rank()) * kCount; first < columns;
       first += kSlots * step) {
    TENAX_UNROLL
    for (int slot = 0; slot < kSlots; ++slot)
      if (first + slot * step < columns) load(slot, first + slot * step);
    TENAX_UNROLL
    for (int slot = 0; slot < kSlots; ++slot)
      if (first + slot * step < columns) use(slot, first + slot * step);
  }
}

/// The same with use(at, load_at(at)): load_at should return what is Raw.
template <int kCount, int kBatch, class Group, class Load, class Use>
TENAX_HOST_DEVICE void for_packs(Group group, std::int64_t columns, const Load& load_at, const Use& use) {
  decltype(load_at(std::int64_t{})) packs[kBatch];
  for_slots<kCount, kBatch>(
      group, columns, [&](int slot, std::int64_t at) { packs[slot] = load_at(at); },
      [&](int slot, std::int64_t at) { use(at, packs[slot]); });
}

/// True where one visit of for_slots covers a row, so that what was loaded once need not be loaded again.
template <int kCount, int kSlots, class Group>
TENAX_HOST_DEVICE bool fits_in_slots(Group group, std::int64_t columns) {
  return columns <= static_cast<std::int64_t>(group.size()) * kCount * kSlots;
}

/// True where all of them may be read eight elements at a time (or are absent).
template <class... Pointers>
bool are_aligned(Pointers... pointers) {
  return (... && (reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0));
}

}  // namespace tenax::kernels::cuda
