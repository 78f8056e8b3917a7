// Which heads the own attention kernels take: those whose tiles fit into what the GPU gives a block of shared memory.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/cuda/attention_backward_body.hpp"
#include "kernels/cuda/attention_forward_body.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {

enum class AttentionPass { forward, backward };

/// What the block of a pass takes that takes the most, of heads of `head_size` numbers.
template <class Real>
constexpr std::size_t attention_block_bytes(AttentionPass pass, int head_size) {
  const int numbers = pass == AttentionPass::forward ? ForwardTiles<Real>::size(head_size)
                                                     : BackwardTiles<Real>::size(head_size, kKeyTiles);
  return sizeof(Real) * static_cast<std::size_t>(numbers);
}

/// Where a block may have `block_bytes`; on no GPU more than 128 numbers of fp64, 256 of the others.
template <class Real>
constexpr int largest_head(AttentionPass pass, std::size_t block_bytes) {
  int head_size = sizeof(Real) == sizeof(double) ? 128 : 256;
  while (head_size > 0 && attention_block_bytes<Real>(pass, head_size) > block_bytes) --head_size;
  return head_size;
}

/// Throws Error(rank), as other GPUs may have room for them, where heads of `head_size` numbers are too big.
template <class Element>
void check_head_size(AttentionPass pass, int head_size, DType dtype, std::size_t block_bytes) {
  const int largest = largest_head<Accumulator<Element>>(pass, block_bytes);
  if (head_size <= largest) return;
  throw Error(Scope::rank,
              std::string(pass == AttentionPass::forward ? "attention" : "attention's backward pass") +
                  " on this GPU, by own kernels, takes heads of up to " + std::to_string(largest) +
                  " numbers in " + name_of(dtype) + ", not " + std::to_string(head_size) +
                  ": use more heads (model.num_attention_heads)" +
                  (dtype == DType::bf16 ? "" : ", or model.compute_dtype = \"bf16\""));
}

}  // namespace tenax::kernels::cuda
