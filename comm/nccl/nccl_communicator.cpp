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
                   NcclOptions options)
      : name_(std::move(name)),
        endpoint_(std::move(endpoint)),
        device_(device),
        options_(options),
        order_(static_cast<std::size_t>(endpoint_->size())) {
    std::iota(order_.begin(), order_.end(), 0);
    join({});
  }

  int rank() const override { return endpoint_->rank(); }
  int size() const override { return endpoint_->size(); }
  const std::string& name() const override { return name_; }
  void check() override { group_->check(); }
  std::vector<int> ring_order() const override { return order_; }

  bool reorder_ring(const std::vector<int>& order) override {
    assert(std::is_permutation(order.begin(), order.end(), order_.begin(), order_.end()));
    check();
    join(order);
    order_ = order;
    return true;
  }

  void all_reduce(Stream& stream, const Tensor& tensor, ReduceOp op) override {
    if (tensor.size() == 0) return;
    start(stream, "all_reduce", tensor, [&] {
      if (op == ReduceOp::sum && rounds_at_hops(tensor)) return sum_by_exchange(tensor);
      group_->call([&](ncclComm_t nccl, cudaStream_t on) {
        return ncclAllReduce(tensor.data, tensor.data, elements(tensor), type_of(tensor.dtype),
                             op == ReduceOp::sum ? ncclSum : ncclMax, nccl, on);
      });
    })->order_before(stream, kernels::Deadline::after_s(options_.deadline_s));
  }

  TransferPtr start_reduce_scatter(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    if (tensor.size() == 0) return std::make_unique<DoneTransfer>();
    return start(stream, "reduce_scatter", tensor, [&] {
      if (rounds_at_hops(tensor)) return exchange_->reduce(tensor);
      group_->call([&](ncclComm_t nccl, cudaStream_t on) {
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
      group_->call([&](ncclComm_t nccl, cudaStream_t on) {
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
  static std::size_t elements(const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()); }

  /// NCCL rounds a partial sum wherever it passes on; between two ranks there is only one sum.
  bool rounds_at_hops(const Tensor& tensor) const { return tensor.dtype == DType::bf16 && size() > 2; }

  bool is_reordered() const { return !std::is_sorted(order_.begin(), order_.end()); }

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
      result = call(piece_of(owner, tensor), group_->members().nccl_rank(owner));
    return result;
  }

  /// All ranks become an NCCL communicator, numbered by `order`. It replaces one that there was, which all ranks leave.
  void join(const std::vector<int>& order) {
    NcclMembers members{.purpose = "in the " + name_ + " group", .rank = rank(), .names = {}, .order = order};
    for (int rank = 0; rank < size(); ++rank) members.names.push_back(endpoint_->describe(rank));
    const std::string mine = members.rank == 0 ? new_nccl_id(members.me()) : std::string();
    const std::string id =
        broadcast_text(*endpoint_, mine, 0, "NCCL's id " + members.purpose, options_.joining_s);
    auto group = std::make_unique<NcclGroup>(std::move(members), id, device_, options_);
    exchange_ = std::make_unique<PieceExchange>(*group, device_);
    group_ = std::move(group);
  }

  void sum_by_exchange(const Tensor& tensor) {
    const std::int64_t part = kPartBytesPerRank * size() / static_cast<std::int64_t>(bytes_of(tensor.dtype));
    for (std::int64_t begin = 0; begin < tensor.size(); begin += part) {
      const Tensor now = tensor.part(begin, {std::min(part, tensor.size() - begin)});
      exchange_->reduce(now);
      exchange_->gather(now);
    }
  }

  TransferPtr start(Stream& stream, const char* what, const Tensor& tensor,
                    const std::function<void()>& enqueue) {
    return std::make_unique<NcclTransfer>(*group_, group_->start(stream, described(what, tensor), enqueue));
  }

  const std::string name_;
  const std::unique_ptr<Endpoint> endpoint_;
  kernels::Device& device_;
  const NcclOptions options_;
  std::vector<int> order_;
  std::unique_ptr<NcclGroup> group_;
  std::unique_ptr<PieceExchange> exchange_;
};

}  // namespace

std::unique_ptr<Communicator> create_nccl_communicator(std::string name, std::unique_ptr<Endpoint> endpoint,
                                                       kernels::Device& device, NcclOptions options) {
  if (endpoint->size() == 1)
    return create_link_communicator(std::move(name), std::move(endpoint), device, {options.deadline_s});
  return std::make_unique<NcclCommunicator>(std::move(name), std::move(endpoint), device, options);
}

}  // namespace tenax::comm
