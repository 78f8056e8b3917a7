// Bytes moved per element of fp32: 12, four of them over PCIe where the chunk lies in host memory. Two blocks of 512
// threads (ft-hsdp, 4.2): enough for what a network brings, and the passes keep the other multiprocessors.
#include "kernels/cuda/operations.hpp"

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/elementwise_body.hpp"
#include "kernels/cuda/kernel_loading.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kBlocks = 2, kChunkSumThreads = 512;

template <int kCount, class Op>
__global__ void __launch_bounds__(kChunkSumThreads) chunk_sum_kernel(Op op, std::int64_t count) {
  for (std::int64_t begin = blockIdx.x * kSlice; begin < count; begin += gridDim.x * kSlice)
    apply_to_slice<kCount>(DeviceGroup{}, op, begin, begin + kSlice < count ? begin + kSlice : count);
}

template <class T, class Incoming>
void launch(cudaStream_t stream, const ChunkSumArgs& args) {
  const ChunkSum<T, Incoming> op{args.own.as<const T>(), args.incoming.as<const Incoming>(),
                                 args.result.as<T>(), args.rounds_incoming, args.rounds_result};
  const std::int64_t count = args.own.size();
  bool packed = false;
  if constexpr (sizeof(T) <= 4) {
    packed = are_aligned(op.own, op.incoming, op.result);
    if (packed) chunk_sum_kernel<kWidth><<<kBlocks, kChunkSumThreads, 0, stream>>>(op, count);
  }
  if (!packed) chunk_sum_kernel<1><<<kBlocks, kChunkSumThreads, 0, stream>>>(op, count);
  check_launch("chunk_sum");
}

template <class T, class Incoming>
void load_widths() {
  using Op = ChunkSum<T, Incoming>;
  if constexpr (sizeof(T) <= 4) load(chunk_sum_kernel<kWidth, Op>);
  load(chunk_sum_kernel<1, Op>);
}

}  // namespace

void load_chunk_sum_kernels() {
  load_widths<double, double>();
  load_widths<float, bf16_t>();
  load_widths<float, float>();
}

void chunk_sum(cudaStream_t stream, const ChunkSumArgs& args) {
  assert(args.own.size() == args.result.size() && args.own.size() == args.incoming.size());
  if (args.own.size() == 0) return;
  if (args.own.dtype == DType::f64) return launch<double, double>(stream, args);
  if (args.incoming.dtype == DType::bf16) return launch<float, bf16_t>(stream, args);
  launch<float, float>(stream, args);
}

}  // namespace tenax::kernels::cuda
