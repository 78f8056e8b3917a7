#include <algorithm>
#include <cassert>

#include "comm/nccl.hpp"
#include "comm/nccl/nccl_library.hpp"
#include "comm/nccl/nccl_transfer.hpp"
#include "comm/text_exchange.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Stream;
using kernels::Tensor;

/// A receive is enqueued long before its message is sent and holds its multiprocessors all the while: it must leave the
/// rest to the passes that run meanwhile.
constexpr int kBlocks = 4;

constexpr int kSender = 0, kReceiver = 1;

std::size_t id_bytes() { return sizeof(ncclUniqueId::internal); }

/// One way between two ranks.
class NcclDirection {
 public:
  NcclDirection(int role, const std::string& from, const std::string& to, const std::string& id,
                kernels::Device& device, NcclOptions options)
      : group_({"from " + from + " to " + to, role, {from, to}}, id, device, options, kBlocks) {
    connect(device, options.joining_s);
  }

  TransferPtr start(Stream& stream, const std::string& what, const Tensor& tensor) {
    if (tensor.bytes() == 0) return std::make_unique<DoneTransfer>();
    const bool sends = group_.members().rank == kSender;
    const auto enqueue = [&](ncclComm_t nccl, cudaStream_t on) {
      return sends ? ncclSend(tensor.data, tensor.bytes(), ncclUint8, kReceiver, nccl, on)
                   : ncclRecv(tensor.data, tensor.bytes(), ncclUint8, kSender, nccl, on);
    };
    return std::make_unique<NcclTransfer>(group_, group_.start(stream, what, [&] { group_.call(enqueue); }),
                                          sends);
  }

 private:
  /// The first message connects the two, for which the caller has to wait: not in the middle of a schedule.
  void connect(kernels::Device& device, double joining_s) {
    const auto memory = device.allocate(sizeof(float));
    start(group_.stream(), "first message", memory->tensor(kernels::DType::f32, {1}))
        ->wait(Deadline::after_s(joining_s));
  }

  NcclGroup group_;
};

/// Both ends hold their directions in one order, in which they leave them too.
class NcclLink final : public Link {
 public:
  NcclLink(std::string description, bool is_lower, std::unique_ptr<NcclDirection> up,
           std::unique_ptr<NcclDirection> down)
      : description_(std::move(description)),
        is_lower_(is_lower),
        up_(std::move(up)),
        down_(std::move(down)) {}

  TransferPtr send(Stream& stream, const Tensor& tensor, Tag tag) override {
    return (is_lower_ ? up_ : down_)->start(stream, described("send", tensor, tag), tensor);
  }
  TransferPtr receive(Stream& stream, const Tensor& tensor, Tag tag) override {
    return (is_lower_ ? down_ : up_)->start(stream, described("receive", tensor, tag), tensor);
  }
  std::string describe() const override { return description_; }

 private:
  static std::string described(const char* what, const Tensor& tensor, Tag tag) {
    assert(tag >= 0 && tag < kMaxTag);
    return std::string(what) + " of " + std::to_string(tensor.bytes()) + " bytes (tag " +
           std::to_string(tag) + ")";
  }

  const std::string description_;
  const bool is_lower_;
  const std::unique_ptr<NcclDirection> up_, down_;
};

class NcclEndpoint final : public Endpoint {
 public:
  NcclEndpoint(std::unique_ptr<Endpoint> names, const std::vector<int>& neighbours, kernels::Device& device,
               NcclOptions options)
      : names_(std::move(names)), links_(static_cast<std::size_t>(size())) {
    const std::vector<std::string> ids = exchange_ids(neighbours, options);
    // Pairs that begin with an even rank first: all of them at a time, then all others.
    for (const int parity : {0, 1})
      for (const int lower : {rank() - 1, rank()}) {
        const int peer = lower == rank() ? rank() + 1 : lower;
        if (lower >= 0 && lower % 2 == parity && is_in(neighbours, peer))
          connect(lower, peer, ids[static_cast<std::size_t>(lower)], device, options);
      }
  }

  int rank() const override { return names_->rank(); }
  int size() const override { return names_->size(); }
  Link& link(int peer) override {
    assert(peer >= 0 && peer < size() && links_[static_cast<std::size_t>(peer)]);
    return *links_[static_cast<std::size_t>(peer)];
  }
  std::string describe(int peer) const override { return names_->describe(peer); }

 private:
  static bool is_in(const std::vector<int>& neighbours, int peer) {
    return std::find(neighbours.begin(), neighbours.end(), peer) != neighbours.end();
  }

  /// Of each rank, two ids for the pair that begins with it: upwards, then downwards.
  std::vector<std::string> exchange_ids(const std::vector<int>& neighbours, NcclOptions options) {
    const std::string me = describe(rank());
    std::string mine;
    if (is_in(neighbours, rank() + 1)) mine = new_nccl_id(me) + new_nccl_id(me);
    return exchange_texts(*names_, mine, "NCCL's ids of a pipeline", options.joining_s);
  }

  void connect(int lower, int peer, const std::string& ids, kernels::Device& device, NcclOptions options) {
    if (ids.size() != 2 * id_bytes())
      throw kernels::Error(kernels::Scope::link, describe(peer) + " does not connect with " +
                                                     describe(rank()) + "; both must name each other");
    const std::string up = ids.substr(0, id_bytes()), down = ids.substr(id_bytes());
    const std::string first = describe(lower), second = describe(lower + 1);
    const bool is_lower = lower == rank();
    auto upwards =
        std::make_unique<NcclDirection>(is_lower ? kSender : kReceiver, first, second, up, device, options);
    auto downwards =
        std::make_unique<NcclDirection>(is_lower ? kReceiver : kSender, second, first, down, device, options);
    links_[static_cast<std::size_t>(peer)] = std::make_unique<NcclLink>(
        describe(rank()) + " - " + describe(peer), is_lower, std::move(upwards), std::move(downwards));
  }

  const std::unique_ptr<Endpoint> names_;
  std::vector<std::unique_ptr<NcclLink>> links_;
};

}  // namespace

std::unique_ptr<Endpoint> create_nccl_endpoint(std::unique_ptr<Endpoint> endpoint,
                                               const std::vector<int>& neighbours, kernels::Device& device,
                                               NcclOptions options) {
  return std::make_unique<NcclEndpoint>(std::move(endpoint), neighbours, device, options);
}

}  // namespace tenax::comm
