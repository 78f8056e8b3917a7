// Attention of one new position. The cache is cut into chunks of positions, so that a long one occupies the
// whole GPU (Dao et al., "Flash-Decoding for long-context inference", 2023): a block per head and chunk,
// then one per head that puts its chunks together. Every sum has an order of its own, whatever number of
// threads forms it.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// Positions of a chunk: a constant, so that sums do not depend on the device.
inline constexpr int kDecodePositions = 128;
/// Sums over the values are formed for every 16th position, then over these.
inline constexpr int kDecodeLanes = 16;

template <class Element>
struct AttentionDecode {
  using Real = Accumulator<Element>;
  const Element* qkv;  ///< [length, 3 · heads · head_size], the new position last
  Element* out;        ///< [heads · head_size]
  Real* parts;  ///< scratch, [heads, chunks(), head_size + 2]: maximum, sum and weighted values of each
  int length, heads, head_size;
  Real scale;

  TENAX_HOST_DEVICE int chunks() const { return (length + kDecodePositions - 1) / kDecodePositions; }
  TENAX_HOST_DEVICE std::int64_t hidden() const { return static_cast<std::int64_t>(heads) * head_size; }
  /// The vector of head `head` in row `row`. `kind`: 0 query, 1 key, 2 value.
  TENAX_HOST_DEVICE const Element* at(int row, int kind, int head) const {
    return qkv + (3 * static_cast<std::int64_t>(row) + kind) * hidden() +
           static_cast<std::int64_t>(head) * head_size;
  }
  TENAX_HOST_DEVICE Real* part(int head, int chunk) const {
    return parts + (static_cast<std::int64_t>(head) * chunks() + chunk) * (head_size + 2);
  }
};

/// The block's shared memory, cut up.
template <class Real>
struct DecodeMemory {
  TENAX_HOST_DEVICE DecodeMemory(Real* memory, int head_size)
      : query(memory),
        weights(query + head_size),
        lane_sums(weights + kDecodePositions),
        lane_values(lane_sums + kDecodeLanes) {}
  /// Numbers of Real that it needs.
  static constexpr int size(int head_size) {
    return kDecodePositions + kDecodeLanes + (kDecodeLanes + 1) * head_size;
  }
  Real *query, *weights, *lane_sums, *lane_values;  // [head_size], [positions], [lanes], [lanes, head_size]
};

/// weights[j] = the score of position first + j. A thread reads whole keys. Returns the largest of
/// the group's.
template <int kCount, class Group, class Element, class Real>
TENAX_HOST_DEVICE Real score_chunk(Group group, const AttentionDecode<Element>& op, int head, int first,
                                   int count, const DecodeMemory<Real>& memory) {
  Real highest = std::numeric_limits<Real>::lowest();
  for (int j = group.rank(); j < count; j += group.size()) {
    const Element* const key = op.at(first + j, 1, head);
    Real sum = 0;
    for (int c = 0; c < op.head_size; c += kCount) {
      const auto values = load<kCount>(key + c);
      TENAX_UNROLL
      for (int i = 0; i < kCount; ++i) sum += memory.query[c + i] * values.at[i];
    }
    const Real score = sum * op.scale;
    memory.weights[j] = score;
    highest = score > highest ? score : highest;
  }
  return group.max(highest);
}

/// lane_values[lane] = Σ weights[j] · value of position first + j, over j = lane, lane + kDecodeLanes, …;
/// lane_sums[lane] of the weights alone.
template <int kCount, class Group, class Element, class Real>
TENAX_HOST_DEVICE void weigh_values(Group group, const AttentionDecode<Element>& op, int head, int first,
                                    int count, const DecodeMemory<Real>& memory) {
  const int packs = op.head_size / kCount;
  for (int item = group.rank(); item < kDecodeLanes * packs; item += group.size()) {
    const int lane = item / packs, column = item % packs * kCount;
    Pack<Real, kCount> sum = {};
    Real weights = 0;
    for (int j = lane; j < count; j += kDecodeLanes) {
      const auto value = load<kCount>(op.at(first + j, 2, head) + column);
      const Real weight = memory.weights[j];
      weights += weight;
      TENAX_UNROLL
      for (int i = 0; i < kCount; ++i) sum.at[i] += weight * value.at[i];
    }
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) memory.lane_values[lane * op.head_size + column + i] = sum.at[i];
    if (column == 0) memory.lane_sums[lane] = weights;
  }
}

template <class Real>
TENAX_HOST_DEVICE Real total_of_lanes(const Real* values, int stride) {
  Real total = values[0];
  for (int lane = 1; lane < kDecodeLanes; ++lane) total += values[lane * stride];
  return total;
}

/// Positions of chunk `chunk` of head `head`. `shared`: DecodeMemory<Real>::size() numbers that the group
/// shares. kCount: 8 where every head's row can be read so, else 1.
template <int kCount, class Group, class Element, class Real>
TENAX_HOST_DEVICE void attention_decode_chunk(Group group, const AttentionDecode<Element>& op, int head,
                                              int chunk, Real* shared) {
  const DecodeMemory<Real> memory(shared, op.head_size);
  const int first = chunk * kDecodePositions, left = op.length - first,
            count = left < kDecodePositions ? left : kDecodePositions;
  const Element* const query = op.at(op.length - 1, 0, head);
  for (int c = group.rank(); c < op.head_size; c += group.size()) memory.query[c] = widen(query[c]);
  group.sync();
  const Real highest = score_chunk<kCount>(group, op, head, first, count, memory);
  for (int j = group.rank(); j < count; j += group.size())  // each thread its own scores
    memory.weights[j] = std::exp(memory.weights[j] - highest);
  group.sync();
  weigh_values<kCount>(group, op, head, first, count, memory);
  group.sync();
  Real* const part = op.part(head, chunk);
  for (int c = group.rank(); c < op.head_size; c += group.size())
    part[2 + c] = total_of_lanes(memory.lane_values + c, op.head_size);
  if (group.rank() != 0) return;
  part[0] = highest;
  part[1] = total_of_lanes(memory.lane_sums, 1);
}

/// out of head `head`, from its chunks, the first first.
template <class Group, class Element>
TENAX_HOST_DEVICE void attention_decode_combine(Group group, const AttentionDecode<Element>& op, int head) {
  using Real = Accumulator<Element>;
  const int chunks = op.chunks();
  Real highest = op.part(head, 0)[0];
  for (int chunk = 1; chunk < chunks; ++chunk) {
    const Real other = op.part(head, chunk)[0];
    highest = other > highest ? other : highest;
  }
  for (int c = group.rank(); c < op.head_size; c += group.size()) {
    Real value = 0, sum = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Real* const part = op.part(head, chunk);
      const Real factor = std::exp(part[0] - highest);
      sum += factor * part[1];
      value += factor * part[2 + c];
    }
    op.out[static_cast<std::int64_t>(head) * op.head_size + c] = narrow<Element>(value / sum);
  }
}

}  // namespace tenax::kernels::cuda
