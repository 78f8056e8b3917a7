#include "comm/staged/staged.hpp"

#include <cassert>

#include "comm/staged/staging_queue.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Stream;
using kernels::Tensor;
using Step = StagedCollective::Step;

class StagedTransfer final : public Transfer {
 public:
  StagedTransfer(StagingQueue& queue, StagingQueue::CollectivePtr collective)
      : queue_(queue), collective_(std::move(collective)) {}
  ~StagedTransfer() override { queue_.cancel(*collective_); }

  bool done() override {
    if (collective_->step != Step::done) queue_.progress();
    return collective_->step == Step::done;
  }
  void wait(Deadline deadline) override { queue_.wait(*collective_, Step::done, deadline); }
  void order_before(Stream& stream, Deadline deadline) override {
    queue_.wait(*collective_, Step::copying_in, deadline);
    if (collective_->step == Step::copying_in) stream.wait(*collective_->host_buffer.copied);
  }
  bool orders_without_blocking() const override { return collective_->step >= Step::copying_in; }

 private:
  StagingQueue& queue_;
  StagingQueue::CollectivePtr collective_;
};

class StagedCommunicator final : public Communicator {
 public:
  using MakeHost = std::function<std::unique_ptr<Communicator>(kernels::Device&)>;

  StagedCommunicator(kernels::Device& device, CommOptions options, const MakeHost& make_host)
      : options_(options),
        host_device_(kernels::create_cpu_device()),
        host_(make_host(*host_device_)),
        queue_(device, *host_) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  const std::string& name() const override { return host_->name(); }

  void all_reduce(Stream& stream, const Tensor& tensor, ReduceOp op) override {
    start(CollectiveKind::all_reduce, stream, tensor, op)
        ->order_before(stream, Deadline::after_s(options_.deadline_s));
  }
  TransferPtr start_reduce_scatter(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    return start(CollectiveKind::reduce_scatter, stream, tensor, ReduceOp::sum);
  }
  TransferPtr start_all_gather(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    return start(CollectiveKind::all_gather, stream, tensor, ReduceOp::sum);
  }
  std::vector<int> ring_order() const override { return host_->ring_order(); }
  std::unique_ptr<RingChange> prepare_ring(const std::vector<int>& order) override {
    return host_->prepare_ring(order);
  }
  LinkTopology topology() const override { return host_->topology(); }
  Link* link(int peer) override { return host_->link(peer); }

 private:
  TransferPtr start(CollectiveKind kind, Stream& stream, const Tensor& tensor, ReduceOp op) {
    if (size() == 1 || tensor.size() == 0) return std::make_unique<DoneTransfer>();
    auto transfer = std::make_unique<StagedTransfer>(queue_, queue_.add(kind, stream, tensor, op));
    if (kind != CollectiveKind::all_reduce) transfer->done();  // its copy begins while the host goes on
    return transfer;
  }

  CommOptions options_;
  std::unique_ptr<kernels::Device> host_device_;
  std::unique_ptr<Communicator> host_;
  StagingQueue queue_;
};

}  // namespace

std::unique_ptr<Communicator> create_staged_communicator(
    kernels::Device& device, CommOptions options,
    const std::function<std::unique_ptr<Communicator>(kernels::Device&)>& make_host) {
  return std::make_unique<StagedCommunicator>(device, options, make_host);
}

}  // namespace tenax::comm
