// Collectives over links. Every collective takes one tag from a sequence number that all ranks count alike,
// so several may be under way at once.
#include <cassert>

#include "comm/collectives/exchanges.hpp"
#include "comm/collectives/reduce_scatter.hpp"
#include "comm/communicator.hpp"
#include "comm/transfer.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Stream;
using kernels::Tensor;

/// Up to here an all-reduce is one exchange of everything.
constexpr std::size_t kSmallBytes = 32 * 1024;
/// A larger one is cut into parts of this size per rank, so that one part is gathered while the next is summed.
constexpr std::int64_t kPartBytesPerRank = 2 * 1024 * 1024;

constexpr const char* kAllReduce = "all_reduce";

class LinkCommunicator final : public Communicator {
 public:
  LinkCommunicator(std::string name, std::unique_ptr<Endpoint> endpoint, kernels::Device& device,
                   CommOptions options)
      : endpoint_(std::move(endpoint)),
        group_{std::move(name), *endpoint_, device, StagingPool(device)},
        options_(options) {
    if (size() > 1 && !device.is_host_memory())
      throw kernels::Error(kernels::Scope::operation,
                           "the " + group_.name +
                               " group's collectives need a device whose memory the host "
                               "can read; " +
                               device.name() + " has none");
  }

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name; }

  void all_reduce(Stream& stream, const Tensor& tensor, ReduceOp op) override {
    if (is_nothing(tensor)) return;
    const Deadline deadline = Deadline::after_s(options_.deadline_s);
    if (tensor.bytes() <= kSmallBytes)
      SmallAllReduce(group_, stream, tensor, op, next_tag()).wait(deadline);
    else
      all_reduce_in_parts(stream, tensor, op, deadline);
  }

  TransferPtr start_reduce_scatter(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    if (is_nothing(tensor)) return std::make_unique<DoneTransfer>();
    return std::make_unique<LinkReduceScatter>(group_, stream, tensor, ReduceOp::sum, "reduce_scatter",
                                               next_tag());
  }

  TransferPtr start_all_gather(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    if (is_nothing(tensor)) return std::make_unique<DoneTransfer>();
    return std::make_unique<LinkAllGather>(group_, stream, tensor, "all_gather", next_tag());
  }

  LinkTopology topology() const override { return LinkTopology::all_pairs; }
  Link* link(int peer) override { return peer == rank() ? nullptr : &endpoint_->link(peer); }

 private:
  bool is_nothing(const Tensor& tensor) const { return size() == 1 || tensor.size() == 0; }
  Tag next_tag() { return static_cast<Tag>(sequence_++ % kMaxTag); }

  void all_reduce_in_parts(Stream& stream, const Tensor& tensor, ReduceOp op, Deadline deadline) {
    const std::int64_t part_elements =
        kPartBytesPerRank * size() / static_cast<std::int64_t>(bytes_of(tensor.dtype));
    TransferPtr gather;
    for (std::int64_t begin = 0; begin < tensor.size(); begin += part_elements) {
      const Tensor part = tensor.part(begin, {std::min(part_elements, tensor.size() - begin)});
      LinkReduceScatter(group_, stream, part, op, kAllReduce, next_tag()).wait(deadline);
      if (gather) gather->wait(deadline);
      gather = std::make_unique<LinkAllGather>(group_, stream, part, kAllReduce, next_tag());
    }
    gather->wait(deadline);
  }

  std::unique_ptr<Endpoint> endpoint_;
  LinkGroup group_;
  CommOptions options_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> create_link_communicator(std::string name, std::unique_ptr<Endpoint> endpoint,
                                                       kernels::Device& device, CommOptions options) {
  return std::make_unique<LinkCommunicator>(std::move(name), std::move(endpoint), device, options);
}

}  // namespace tenax::comm
