#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "comm/emulated/direct_endpoint.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Stream;
using kernels::Tensor;

/// Collectives under way at a time have tags of their own.
constexpr std::uint64_t kTags = 4096;

struct Ring {
  Link& before;
  Link& after;
  kernels::Device& device;
};

/// So many steps round the ring, on a stream of its own: the caller's goes on computing meanwhile.
class RingCollective final : public Transfer {
 public:
  RingCollective(const Ring& ring, Stream& stream, const Tensor& chunk, int steps, Tag tag)
      : ring_(ring),
        chunk_(chunk),
        steps_(steps),
        tag_(tag),
        stream_(ring.device.create_stream()),
        mark_(ring.device.create_event()) {
    stream.record(*mark_);
    stream_->wait(*mark_);
    begin_step();
  }

  bool done() override {
    while (steps_ > 0 && arriving_->done()) end_step(Deadline::after_s(0));
    return steps_ == 0;
  }
  void wait(Deadline deadline) override {
    while (steps_ > 0) {
      arriving_->wait(deadline);
      end_step(deadline);
    }
  }
  void order_before(Stream& stream, Deadline deadline) override {
    wait(deadline);
    stream_->record(*mark_);
    stream.wait(*mark_);
  }

 private:
  void begin_step() {
    arriving_ = ring_.before.receive(*stream_, chunk_, tag_);
    leaving_ = ring_.after.send(*stream_, chunk_, tag_);
  }
  // What has arrived is what the next step sends on.
  void end_step(Deadline deadline) {
    arriving_->order_before(*stream_, deadline);
    if (--steps_ > 0) begin_step();
  }

  Ring ring_;
  Tensor chunk_;
  int steps_;
  Tag tag_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<kernels::Event> mark_;
  TransferPtr arriving_, leaving_;
};

class RingCommunicator final : public Communicator {
 public:
  RingCommunicator(std::string name, int rank, int size, MakeLinks make_links, kernels::Device& device,
                   CommOptions options)
      : name_(std::move(name)),
        rank_(rank),
        make_links_(std::move(make_links)),
        device_(device),
        options_(options),
        order_(static_cast<std::size_t>(size)) {
    std::iota(order_.begin(), order_.end(), 0);
    adopt(order_, missing_links(order_));
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(order_.size()); }
  const std::string& name() const override { return name_; }

  void all_reduce(Stream& stream, const Tensor& tensor, ReduceOp) override {
    start(stream, tensor, 2 * (size() - 1))->order_before(stream, Deadline::after_s(options_.deadline_s));
  }
  TransferPtr start_reduce_scatter(Stream& stream, const Tensor& tensor) override {
    return start(stream, tensor, size() - 1);
  }
  TransferPtr start_all_gather(Stream& stream, const Tensor& tensor) override {
    return start(stream, tensor, size() - 1);
  }
  std::vector<int> ring_order() const override { return order_; }
  std::unique_ptr<RingChange> prepare_ring(const std::vector<int>& order) override {
    assert(std::is_permutation(order.begin(), order.end(), order_.begin(), order_.end()));
    return std::make_unique<Change>(*this, order, missing_links(order));
  }
  LinkTopology topology() const override { return LinkTopology::ring; }
  Link* link(int peer) override {
    const auto found = links_.find(peer);
    return found == links_.end() ? nullptr : found->second;
  }

 private:
  /// Links that this rank did not have yet. endpoint: null where there are none.
  struct Links {
    std::set<int> peers;
    std::unique_ptr<Endpoint> endpoint;
  };

  class Change final : public RingChange {
   public:
    Change(RingCommunicator& ring, std::vector<int> order, Links links)
        : ring_(ring), order_(std::move(order)), links_(std::move(links)) {}
    void adopt() override { ring_.adopt(order_, std::move(links_)); }

   private:
    RingCommunicator& ring_;
    const std::vector<int> order_;
    Links links_;
  };

  /// The ranks before and after this one.
  std::pair<int, int> neighbours(const std::vector<int>& order) const {
    const auto me = std::find(order.begin(), order.end(), rank_) - order.begin();
    const auto at = [&](std::ptrdiff_t place) { return order[static_cast<std::size_t>(place % size())]; };
    return {at(me + size() - 1), at(me + 1)};
  }

  /// To this rank's neighbours.
  Links missing_links(const std::vector<int>& order) {
    const auto [before, after] = neighbours(order);
    Links links{.peers = {before, after}, .endpoint = nullptr};
    std::erase_if(links.peers, [this](int peer) { return peer == rank_ || links_.contains(peer); });
    if (!links.peers.empty()) links.endpoint = make_links_({links.peers.begin(), links.peers.end()});
    return links;
  }

  void adopt(const std::vector<int>& order, Links links) {
    order_ = order;
    std::tie(before_, after_) = neighbours(order_);
    for (const int peer : links.peers) links_[peer] = &links.endpoint->link(peer);
    if (links.endpoint) endpoints_.push_back(std::move(links.endpoint));
  }

  TransferPtr start(Stream& stream, const Tensor& tensor, int steps) {
    if (steps == 0 || tensor.size() == 0) return std::make_unique<DoneTransfer>();
    assert(!tensor && "the emulated device has no data to reduce");
    const Ring ring{*links_.at(before_), *links_.at(after_), device_};
    const Tensor chunk{nullptr, tensor.dtype, {(tensor.size() + size() - 1) / size()}};
    return std::make_unique<RingCollective>(ring, stream, chunk, steps, static_cast<Tag>(started_++ % kTags));
  }

  std::string name_;
  int rank_;
  MakeLinks make_links_;
  kernels::Device& device_;
  CommOptions options_;
  std::vector<int> order_;
  int before_ = 0, after_ = 0;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::map<int, Link*> links_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> create_emulated_ring_communicator(std::string name, int rank, int size,
                                                                MakeLinks make_links, kernels::Device& device,
                                                                CommOptions options) {
  return std::make_unique<RingCommunicator>(std::move(name), rank, size, std::move(make_links), device,
                                            options);
}

}  // namespace tenax::comm
