#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>

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
    join();
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
  bool reorder_ring(const std::vector<int>& order) override {
    assert(std::is_permutation(order.begin(), order.end(), order_.begin(), order_.end()));
    order_ = order;
    join();
    return true;
  }
  LinkTopology topology() const override { return LinkTopology::ring; }
  Link* link(int peer) override {
    const auto found = links_.find(peer);
    return found == links_.end() ? nullptr : found->second;
  }

 private:
  /// Makes the links to this rank's neighbours that it does not have yet.
  void join() {
    const auto me = std::find(order_.begin(), order_.end(), rank_) - order_.begin();
    const auto at = [&](std::ptrdiff_t place) { return order_[static_cast<std::size_t>(place % size())]; };
    before_ = at(me + size() - 1);
    after_ = at(me + 1);
    std::set<int> missing = {before_, after_};
    std::erase_if(missing, [this](int peer) { return peer == rank_ || links_.contains(peer); });
    if (missing.empty()) return;
    Endpoint& made = *endpoints_.emplace_back(make_links_({missing.begin(), missing.end()}));
    for (const int peer : missing) links_[peer] = &made.link(peer);
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
