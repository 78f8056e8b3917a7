// Bytes moved through device memory: keys and values, once: 4 · length · hidden of bf16. At 1024 positions of GPT-2 124M
// a layer has 96 blocks of 32 KiB.
#include <cmath>

#include "kernels/cuda/attention_decode_body.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/operations.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kDecodeThreads = kDecodePositions;  // a key each

extern __shared__ __align__(16) unsigned char shared_memory[];

template <int kCount, class Element>
__global__ void __launch_bounds__(kDecodeThreads) chunk_kernel(AttentionDecode<Element> op) {
  attention_decode_chunk<kCount>(DeviceGroup{}, op, static_cast<int>(blockIdx.y),
                                 static_cast<int>(blockIdx.x),
                                 reinterpret_cast<Accumulator<Element>*>(shared_memory));
}

template <class Element>
__global__ void __launch_bounds__(kDecodeThreads) combine_kernel(AttentionDecode<Element> op) {
  attention_decode_combine(DeviceGroup{}, op, static_cast<int>(blockIdx.x));
}

template <int kCount, class Element>
void launch(cudaStream_t stream, const AttentionDecode<Element>& op) {
  const std::size_t bytes =
      sizeof(Accumulator<Element>) * DecodeMemory<Accumulator<Element>>::size(op.head_size);
  const auto heads = static_cast<unsigned>(op.heads);
  chunk_kernel<kCount>
      <<<dim3(static_cast<unsigned>(op.chunks()), heads), kDecodeThreads, bytes, stream>>>(op);
  check_launch("attention_decode");
  combine_kernel<<<heads, kDecodeThreads, 0, stream>>>(op);
  check_launch("attention_decode_combine");
}

template <class Element>
void launch(cudaStream_t stream, const AttentionDecode<Element>& op) {
  if constexpr (sizeof(Element) <= 4)
    if (op.head_size % kWidth == 0 && are_aligned(op.qkv)) return launch<kWidth>(stream, op);
  launch<1>(stream, op);
}

}  // namespace

void load_attention_decode_kernels() {
  for_each_type([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4) load(chunk_kernel<kWidth, T>);
    load(chunk_kernel<1, T>, combine_kernel<T>);
  });
}

void attention_decode(cudaStream_t stream, const AttentionDecodeArgs& args, Workspace& workspace) {
  const int length = static_cast<int>(args.qkv.shape[0]),
            size = static_cast<int>(args.out.columns()) / args.heads;
  assert(length > 0 && args.qkv.columns() == 3 * args.out.columns() &&
         size * args.heads == args.out.columns());
  with_type(args.out.dtype, [&](auto type) {
    using Element = decltype(type);
    using Real = Accumulator<Element>;
    AttentionDecode<Element> op{args.qkv.as<const Element>(),
                                args.out.as<Element>(),
                                nullptr,
                                length,
                                args.heads,
                                size,
                                static_cast<Real>(1 / std::sqrt(static_cast<double>(size)))};
    const auto numbers = static_cast<std::size_t>(args.heads) * op.chunks() * (size + 2);
    op.parts = static_cast<Real*>(workspace.take(numbers * sizeof(Real)));
    launch(stream, op);
  });
}

}  // namespace tenax::kernels::cuda
