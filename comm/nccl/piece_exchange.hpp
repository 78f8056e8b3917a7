// PieceExchange: sums by direct exchange, for what NCCL's own reductions would round at every hop
// (bf16): each rank gets all contributions to its piece and adds them in fp32, in rank order. Each
// byte crosses a link as often as in a ring.
#pragma once

#include <memory>

#include "comm/nccl/nccl_group.hpp"

namespace tenax::comm {

/// Piece p of a tensor is what piece_begin (comm/collectives/link_collective.hpp) says. Both
/// functions only from `enqueue` of NcclGroup::start. Both references must outlive it.
class PieceExchange {
 public:
  PieceExchange(NcclGroup& group, kernels::Device& device) : group_(group), device_(device) {}
  /// Afterwards the own piece holds the sum; the others are as they were.
  void reduce(const kernels::Tensor& tensor);
  /// Every rank's own piece comes to all others.
  void gather(const kernels::Tensor& tensor);

 private:
  kernels::Tensor piece(const kernels::Tensor& tensor, int index) const;
  kernels::Buffer& memory(std::unique_ptr<kernels::Buffer>& buffer, std::size_t bytes);

  NcclGroup& group_;
  kernels::Device& device_;
  std::unique_ptr<kernels::Buffer> contributions_, scratch_;
};

}  // namespace tenax::comm
