#include "comm/nccl/piece_exchange.hpp"

#include "comm/collectives/link_collective.hpp"
#include "comm/collectives/ordered_sum.hpp"
#include "comm/nccl/nccl_library.hpp"

namespace tenax::comm {

using kernels::Tensor;

namespace {

/// Every contribution is aligned to this.
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void PieceExchange::reduce(const Tensor& tensor) {
  const NcclMembers& members = group_.members();
  const Tensor own = piece(tensor, members.rank);
  const std::size_t room = aligned(own.bytes());
  const kernels::Buffer& incoming = memory(contributions_, room * static_cast<std::size_t>(members.size()));
  std::vector<Tensor> contributions;
  for (int source = 0; source < members.size(); ++source)
    contributions.push_back(
        source == members.rank
            ? own
            : incoming.tensor(own.dtype, own.shape, room * static_cast<std::size_t>(source)));
  group_.call([&](ncclComm_t nccl, cudaStream_t stream) {
    ncclResult_t result = ncclSuccess;
    for (int peer = 0; peer < members.size() && !is_fault(result); ++peer) {
      if (peer == members.rank) continue;
      const Tensor theirs = piece(tensor, peer);
      const Tensor& contribution = contributions[static_cast<std::size_t>(peer)];
      const int there = members.nccl_rank(peer);
      if (theirs.size() > 0) result = ncclSend(theirs.data, theirs.bytes(), ncclUint8, there, nccl, stream);
      if (own.size() > 0 && !is_fault(result))
        result = ncclRecv(contribution.data, contribution.bytes(), ncclUint8, there, nccl, stream);
    }
    return result;
  });
  if (own.size() > 0)
    ordered_reduce(device_.kernels(), group_.stream(), contributions, members.rank, ReduceOp::sum,
                   memory(scratch_, ordered_sum_scratch_bytes(own.dtype, own.size())));
}

void PieceExchange::gather(const Tensor& tensor) {
  const NcclMembers& members = group_.members();
  const Tensor own = piece(tensor, members.rank);
  group_.call([&](ncclComm_t nccl, cudaStream_t stream) {
    ncclResult_t result = ncclSuccess;
    for (int peer = 0; peer < members.size() && !is_fault(result); ++peer) {
      if (peer == members.rank) continue;
      const Tensor theirs = piece(tensor, peer);
      const int there = members.nccl_rank(peer);
      if (own.size() > 0) result = ncclSend(own.data, own.bytes(), ncclUint8, there, nccl, stream);
      if (theirs.size() > 0 && !is_fault(result))
        result = ncclRecv(theirs.data, theirs.bytes(), ncclUint8, there, nccl, stream);
    }
    return result;
  });
}

Tensor PieceExchange::piece(const Tensor& tensor, int index) const {
  const std::int64_t begin = piece_begin(tensor.size(), index, group_.members().size());
  return tensor.part(begin, {piece_begin(tensor.size(), index + 1, group_.members().size()) - begin});
}

/// Work that was enqueued before may use the old buffer: the device keeps it until then.
kernels::Buffer& PieceExchange::memory(std::unique_ptr<kernels::Buffer>& buffer, std::size_t bytes) {
  if (!buffer || buffer->bytes() < bytes) {
    buffer.reset();
    buffer = device_.allocate(std::max(bytes, kAlignment));
  }
  return *buffer;
}

}  // namespace tenax::comm
