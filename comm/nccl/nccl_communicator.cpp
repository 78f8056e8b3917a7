#include <algorithm>
#include <cassert>
#include <numeric>

#include "comm/nccl.hpp"
#include "comm/nccl/nccl_library.hpp"
#include "comm/nccl/nccl_transfer.hpp"
#include "comm/nccl/piece_exchange.hpp"
#include "comm/text_exchange.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {
namespace {

using kernels::DType;
using kernels::Stream;
using kernels::Tensor;

/// Of a sum by exchange, per rank: bounds the memory for contributions.
constexpr std::int64_t kPartBytesPerRank = 4 * 1024 * 1024;

/// Of a collective beside passes. It has a whole backward pass for its time, and all products do without what it
/// may hold.
constexpr int kOverlappingBlocks = 8;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i32:
      break;
  }
  return ncclInt32;
}

std::string described(const char* what, const Tensor& tensor) {
  return std::string(what) + " of " + std::to_string(tensor.bytes()) + " bytes";
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::string name, std::unique_ptr<Endpoint> endpoint, kernels::Device& device,
                   NcclOptions options, int max_blocks)
      : name_(std::move(name)),
        endpoint_(std::move(endpoint)),
        device_(device),
        options_(options),
        max_blocks_(max_blocks) {
    std::vector<int> order(static_cast<std::size_t>(endpoint_->size()));
    std::iota(order.begin(), order.end(), 0);
    ring_ = join(order);
  }

  int rank() const override { return endpoint_->rank(); }
  int size() const override { return endpoint_->size(); }
  const std::string& name() const override { return name_; }
  void check() override { ring_->group.check(); }
  std::vector<int> ring_order() const override { return ring_->order(); }

  // Ids come over the endpoint, where those of a change that failed may still be on their way. What has made it fail, such as a
  // device that has no memory for two rings, is mostly still so.
  std::unique_ptr<RingChange> prepare_ring(const std::vector<int>& order) override {
    assert(std::is_permutation(order.begin(), order.end(), ring_->order().begin(), ring_->order().end()));
    check();
    if (is_changing_)
      throw kernels::Error(kernels::Scope::link,
                           "the " + name_ + " group stays in its order: it could not change it before");
    is_changing_ = true;
    return std::make_unique<Change>(*this, join(order));
  }

  void all_reduce(Stream& stream, const Tensor& tensor, ReduceOp op) override {
    if (tensor.size() == 0) return;
    start(stream, "all_reduce", tensor, [&] {
      if (op == ReduceOp::sum && rounds_at_hops(tensor)) return sum_by_exchange(tensor);
      ring_->group.call([&](ncclComm_t nccl, cudaStream_t on) {
        return ncclAllReduce(tensor.data, tensor.data, elements(tensor), type_of(tensor.dtype),
                             op == ReduceOp::sum ? ncclSum : ncclMax, nccl, on);
      });
    })->order_before(stream, kernels::Deadline::after_s(options_.deadline_s));
  }

  TransferPtr start_reduce_scatter(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    if (tensor.size() == 0) return std::make_unique<DoneTransfer>();
    return start(stream, "reduce_scatter", tensor, [&] {
      if (rounds_at_hops(tensor)) return ring_->exchange.reduce(tensor);
      ring_->group.call([&](ncclComm_t nccl, cudaStream_t on) {
        if (is_reordered())
          return for_each_piece(tensor, [&](const Tensor& piece, int owner) {
            return ncclReduce(piece.data, piece.data, elements(piece), type_of(piece.dtype), ncclSum, owner,
                              nccl, on);
          });
        const Tensor own = own_piece(tensor);
        return ncclReduceScatter(tensor.data, own.data, elements(own), type_of(tensor.dtype), ncclSum, nccl,
                                 on);
      });
    });
  }

  TransferPtr start_all_gather(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    if (tensor.size() == 0) return std::make_unique<DoneTransfer>();
    return start(stream, "all_gather", tensor, [&] {
      ring_->group.call([&](ncclComm_t nccl, cudaStream_t on) {
        if (is_reordered())
          return for_each_piece(tensor, [&](const Tensor& piece, int owner) {
            return ncclBroadcast(piece.data, piece.data, elements(piece), type_of(piece.dtype), owner, nccl,
                                 on);
          });
        const Tensor own = own_piece(tensor);
        return ncclAllGather(own.data, tensor.data, elements(own), type_of(tensor.dtype), nccl, on);
      });
    });
  }

 private:
  struct Ring {
    Ring(NcclMembers members, const std::string& id, kernels::Device& device, const NcclOptions& options,
         int max_blocks)
        : group(std::move(members), id, device, options, max_blocks), exchange(group, device) {}
    const std::vector<int>& order() const { return group.members().order; }
    NcclGroup group;
    PieceExchange exchange;
  };

  class Change final : public RingChange {
   public:
    Change(NcclCommunicator& communicator, std::unique_ptr<Ring> ring)
        : communicator_(communicator), ring_(std::move(ring)) {}
    void adopt() override {
      communicator_.ring_ = std::move(ring_);
      communicator_.is_changing_ = false;
    }

   private:
    NcclCommunicator& communicator_;
    std::unique_ptr<Ring> ring_;
  };

  static std::size_t elements(const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()); }

  /// NCCL rounds a partial sum wherever it passes on; between two ranks there is only one sum.
  bool rounds_at_hops(const Tensor& tensor) const { return tensor.dtype == DType::bf16 && size() > 2; }

  bool is_reordered() const { return !std::is_sorted(ring_->order().begin(), ring_->order().end()); }

  Tensor piece_of(int owner, const Tensor& tensor) const {
    const std::int64_t piece = tensor.size() / size();
    return tensor.part(piece * owner, {piece});
  }
  Tensor own_piece(const Tensor& tensor) const { return piece_of(rank(), tensor); }

  /// NCCL gives piece n to its own rank n. In another order each piece is therefore a call of its own, from or to the
  /// NCCL rank of its owner: together they move as many bytes round the ring.
  template <class Call>
  ncclResult_t for_each_piece(const Tensor& tensor, const Call& call) const {
    ncclResult_t result = ncclSuccess;
    for (int owner = 0; owner < size() && !is_fault(result); ++owner)
      result = call(piece_of(owner, tensor), ring_->group.members().nccl_rank(owner));
    return result;
  }

  /// All ranks become an NCCL communicator, numbered by `order`.
  std::unique_ptr<Ring> join(const std::vector<int>& order) {
    NcclMembers members{.purpose = "in the " + name_ + " group", .rank = rank(), .names = {}, .order = order};
    for (int rank = 0; rank < size(); ++rank) members.names.push_back(endpoint_->describe(rank));
    const std::string mine = members.rank == 0 ? new_nccl_id(members.me()) : std::string();
    const std::string id =
        broadcast_text(*endpoint_, mine, 0, "NCCL's id " + members.purpose, options_.joining_s);
    return std::make_unique<Ring>(std::move(members), id, device_, options_, max_blocks_);
  }

  void sum_by_exchange(const Tensor& tensor) {
    const std::int64_t part = kPartBytesPerRank * size() / static_cast<std::int64_t>(bytes_of(tensor.dtype));
    for (std::int64_t begin = 0; begin < tensor.size(); begin += part) {
      const Tensor now = tensor.part(begin, {std::min(part, tensor.size() - begin)});
      ring_->exchange.reduce(now);
      ring_->exchange.gather(now);
    }
  }

  TransferPtr start(Stream& stream, const char* what, const Tensor& tensor,
                    const std::function<void()>& enqueue) {
    return std::make_unique<NcclTransfer>(ring_->group,
                                          ring_->group.start(stream, described(what, tensor), enqueue));
  }

  const std::string name_;
  const std::unique_ptr<Endpoint> endpoint_;
  kernels::Device& device_;
  const NcclOptions options_;
  const int max_blocks_;
  std::unique_ptr<Ring> ring_;
  bool is_changing_ = false;  // a ring was prepared that nobody has adopted
};

}  // namespace

std::unique_ptr<Communicator> create_nccl_communicator(std::string name, std::unique_ptr<Endpoint> endpoint,
                                                       kernels::Device& device, NcclOptions options,
                                                       bool overlaps) {
  if (endpoint->size() == 1)
    return create_link_communicator(std::move(name), std::move(endpoint), device, {options.deadline_s});
  return std::make_unique<NcclCommunicator>(std::move(name), std::move(endpoint), device, options,
                                            overlaps ? kOverlappingBlocks : 0);
}

}  // namespace tenax::comm
