// Σ x² in fp64, in two stages: of slices, then of the slices' sums. The order is fixed by the length and alignment alone.
#pragma once

#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// Elements [begin, end) of x, kCount at a time and the rest one by one.
template <int kCount, class Group, class T>
TENAX_HOST_DEVICE double square_sum(Group group, const T* x, std::int64_t begin, std::int64_t end) {
  constexpr int kReadsUnderWay = 4;
  double sum = 0;
  const auto add = [&sum](const auto& values) {
    TENAX_UNROLL
    for (const auto value : values.at) sum += static_cast<double>(value) * static_cast<double>(value);
  };
  const std::int64_t packed = (end - begin) / kCount * kCount;
  for_packs<kCount, kReadsUnderWay>(
      group, packed, [&](std::int64_t at) { return load_raw<kCount>(x + begin + at); },
      [&](std::int64_t, const Raw<T, kCount>& raw) { add(widened(raw)); });
  for (std::int64_t at = begin + packed + group.rank(); at < end; at += group.size()) add(load<1>(x + at));
  return group.sum(sum);
}

template <class Group>
TENAX_HOST_DEVICE double plain_sum(Group group, const double* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = group.rank(); i < count; i += group.size()) sum += values[i];
  return group.sum(sum);
}

}  // namespace tenax::kernels::cuda
