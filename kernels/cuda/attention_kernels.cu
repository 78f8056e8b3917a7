// Of each head, the blocks with the most to do come first: the last queries, which see all keys, and the
// first keys, which all queries see.
#include <cmath>

#include "kernels/cuda/attention_limits.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/scratch_plan.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kAttentionThreads = 128;  // the patches of a product of tiles

extern __shared__ __align__(16) unsigned char shared_memory[];

template <class Element>
__global__ void __launch_bounds__(kAttentionThreads)
    forward_kernel(AttentionForward<Element> op, unsigned tiles) {
  const unsigned tile = tiles - 1 - blockIdx.x % tiles;
  attention_forward_block(DeviceGroup{}, op, blockIdx.x / tiles, static_cast<int>(tile) * kForwardQueries,
                          reinterpret_cast<Accumulator<Element>*>(shared_memory));
}

template <class Element>
__global__ void __launch_bounds__(kAttentionThreads)
    output_dots_kernel(AttentionBackward<Element> op, std::int64_t rows) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row < rows)
    attention_output_dot(DeviceGroup{}, op, row / op.shape.length, static_cast<int>(row % op.shape.length));
}

template <class Element>
__global__ void __launch_bounds__(kAttentionThreads)
    queries_kernel(AttentionBackward<Element> op, unsigned tiles) {
  const unsigned tile = tiles - 1 - blockIdx.x % tiles;
  attention_backward_queries(DeviceGroup{}, op, blockIdx.x / tiles, static_cast<int>(tile) * kBackwardRows,
                             reinterpret_cast<Accumulator<Element>*>(shared_memory));
}

template <class Element>
__global__ void __launch_bounds__(kAttentionThreads)
    keys_kernel(AttentionBackward<Element> op, unsigned tiles) {
  const unsigned tile = blockIdx.x % tiles;
  attention_backward_keys(DeviceGroup{}, op, blockIdx.x / tiles, static_cast<int>(tile) * kBackwardRows,
                          reinterpret_cast<Accumulator<Element>*>(shared_memory));
}

// One block per tile of `rows` rows of each head.
template <class Kernel, class Op>
void launch_tiles(cudaStream_t stream, const char* name, Kernel* kernel, const Op& op, int rows,
                  std::size_t bytes) {
  const auto tiles = static_cast<unsigned>((op.shape.length + rows - 1) / rows);
  const auto blocks = static_cast<unsigned>(op.shape.count() * tiles);
  TENAX_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  kernel<<<blocks, kAttentionThreads, bytes, stream>>>(op, tiles);
  check_launch(name);
}

// Of the current device.
template <class Element>
void check_head_size(AttentionPass pass, const AttentionShape& shape, DType dtype) {
  int device = 0, block_bytes = 0;
  TENAX_CUDA_CHECK(cudaGetDevice(&device));
  TENAX_CUDA_CHECK(cudaDeviceGetAttribute(&block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check_head_size<Element>(pass, shape.head_size, dtype, static_cast<std::size_t>(block_bytes));
}

template <class Real>
Real scale_of(const AttentionShape& shape) {
  return static_cast<Real>(1 / std::sqrt(static_cast<double>(shape.head_size)));
}

template <class Element>
void forward(cudaStream_t stream, const AttentionForwardArgs& args, const AttentionShape& shape) {
  using Real = Accumulator<Element>;
  check_head_size<Element>(AttentionPass::forward, shape, args.out.dtype);
  const AttentionForward<Element> op{shape, args.qkv.as<const Element>(), args.out.as<Element>(),
                                     args.log_sum_exp.as<Real>(), scale_of<Real>(shape)};
  launch_tiles(stream, "attention_forward", forward_kernel<Element>, op, kForwardQueries,
               attention_block_bytes<Real>(AttentionPass::forward, shape.head_size));
}

// Heads whose tiles do not fit into a block's shared memory cannot come here: check_head_size().
template <class Element>
void backward(cudaStream_t stream, const AttentionBackward<Element>& op) {
  using Real = Accumulator<Element>;
  const std::int64_t rows = op.shape.count() * op.shape.length;
  constexpr int kWarps = kAttentionThreads / kWarp;
  output_dots_kernel<<<static_cast<unsigned>((rows + kWarps - 1) / kWarps), dim3(kWarp, kWarps), 0, stream>>>(
      op, rows);
  check_launch("attention_output_dots");
  launch_tiles(stream, "attention_backward_queries", queries_kernel<Element>, op, kBackwardRows,
               sizeof(Real) * BackwardTiles<Real>::size(op.shape.head_size, kQueryTiles));
  launch_tiles(stream, "attention_backward_keys", keys_kernel<Element>, op, kBackwardRows,
               attention_block_bytes<Real>(AttentionPass::backward, op.shape.head_size));
}

// Where d_qkv is qkv, d_q waits in the workspace until no block needs q any more.
template <class Element>
void backward(cudaStream_t stream, const AttentionBackwardArgs& args, const AttentionShape& shape,
              Workspace& workspace) {
  using Real = Accumulator<Element>;
  check_head_size<Element>(AttentionPass::backward, shape, args.out.dtype);
  const bool in_place = args.d_qkv.data == args.qkv.data;
  const OwnBackwardScratch scratch(shape, args.out.dtype, in_place);
  auto* const memory = static_cast<std::byte*>(workspace.take(scratch.bytes));
  AttentionBackward<Element> op{shape,
                                args.qkv.as<const Element>(),
                                args.out.as<const Element>(),
                                args.d_out.as<const Element>(),
                                args.log_sum_exp.as<const Real>(),
                                reinterpret_cast<Real*>(memory + scratch.output_dots),
                                args.d_qkv.as<Element>(),
                                args.d_qkv.as<Element>(),
                                3,
                                scale_of<Real>(shape)};
  if (in_place) {
    op.d_q = reinterpret_cast<Element*>(memory + scratch.d_q);
    op.d_q_parts = 1;
  }
  backward(stream, op);
  const std::size_t row_bytes = shape.hidden() * sizeof(Element);
  if (in_place)
    TENAX_CUDA_CHECK(cudaMemcpy2DAsync(args.d_qkv.data, 3 * row_bytes, op.d_q, row_bytes, row_bytes,
                                       args.out.rows(), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace

void load_attention_kernels() {
  for_each_type([](auto type) {
    using T = decltype(type);
    load(forward_kernel<T>, output_dots_kernel<T>, queries_kernel<T>, keys_kernel<T>);
  });
}

void own_attention_forward(cudaStream_t stream, const AttentionForwardArgs& args) {
  const AttentionShape shape = attention_shape_of(args.out, args.heads);
  if (args.out.size() == 0) return;
  with_type(args.out.dtype, [&](auto type) { forward<decltype(type)>(stream, args, shape); });
}

void own_attention_backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace) {
  const AttentionShape shape = attention_shape_of(args.out, args.heads);
  if (args.out.size() == 0) return;
  with_type(args.out.dtype, [&](auto type) { backward<decltype(type)>(stream, args, shape, workspace); });
}

}  // namespace tenax::kernels::cuda
