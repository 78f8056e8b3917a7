#include <cassert>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"

namespace tenax::kernels {
namespace {

float rounded(float value) { return widen(to_bf16(value)); }

template <bool kRounds>
float value_of(float value) {
  return kRounds ? rounded(value) : value;
}
template <bool>
float value_of(bf16_t value) {
  return widen(value);
}
template <bool>
double value_of(double value) {
  return value;
}

template <bool kRoundsIncoming, bool kRoundsResult, class T, class Incoming>
void sum(const T* __restrict own, const Incoming* __restrict incoming, T* __restrict result,
         std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    result[i] = value_of<kRoundsResult>(own[i] + value_of<kRoundsIncoming>(incoming[i]));
}

template <class T, class Incoming>
void sum(const ChunkSumArgs& args) {
  const auto* const own = args.own.as<const T>();
  const auto* const incoming = args.incoming.as<const Incoming>();
  auto* const result = args.result.as<T>();
  const std::int64_t count = args.own.size();
  if (args.rounds_incoming && args.rounds_result) return sum<true, true>(own, incoming, result, count);
  if (args.rounds_incoming) return sum<true, false>(own, incoming, result, count);
  if (args.rounds_result) return sum<false, true>(own, incoming, result, count);
  sum<false, false>(own, incoming, result, count);
}

}  // namespace

void CpuKernels::chunk_sum(Stream&, const ChunkSumArgs& args) {
  assert(args.own.size() == args.result.size() && args.own.size() == args.incoming.size());
  assert(args.own.dtype == args.result.dtype);
  if (args.own.dtype == DType::f64) return sum<double, double>(args);
  if (args.incoming.dtype == DType::bf16) return sum<float, bf16_t>(args);
  sum<float, float>(args);
}

}  // namespace tenax::kernels
