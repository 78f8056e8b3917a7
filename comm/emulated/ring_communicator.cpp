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
  RingCommunicator(std::string name, std::unique_ptr<Endpoint> endpoint, kernels::Device& device,
                   CommOptions options)
      : name_(std::move(name)), endpoint_(std::move(endpoint)), device_(device), options_(options) {}

  int rank() const override { return endpoint_->rank(); }
  int size() const override { return endpoint_->size(); }
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
  LinkTopology topology() const override { return LinkTopology::ring; }
  Link* link(int peer) override {
    const bool is_neighbour = peer == before() || peer == after();
    return is_neighbour && peer != rank() ? &endpoint_->link(peer) : nullptr;
  }

 private:
  int before() const { return (rank() + size() - 1) % size(); }
  int after() const { return (rank() + 1) % size(); }
  TransferPtr start(Stream& stream, const Tensor& tensor, int steps) {
    if (steps == 0 || tensor.size() == 0) return std::make_unique<DoneTransfer>();
    assert(!tensor && "the emulated device has no data to reduce");
    const Ring ring{endpoint_->link(before()), endpoint_->link(after()), device_};
    const Tensor chunk{nullptr, tensor.dtype, {(tensor.size() + size() - 1) / size()}};
    return std::make_unique<RingCollective>(ring, stream, chunk, steps, static_cast<Tag>(started_++ % kTags));
  }

  std::string name_;
  std::unique_ptr<Endpoint> endpoint_;
  kernels::Device& device_;
  CommOptions options_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> create_emulated_ring_communicator(std::string name,
                                                                std::unique_ptr<Endpoint> endpoint,
                                                                kernels::Device& device,
                                                                CommOptions options) {
  return std::make_unique<RingCommunicator>(std::move(name), std::move(endpoint), device, options);
}

}  // namespace tenax::comm
