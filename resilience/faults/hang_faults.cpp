#include "resilience/faults/hang_faults.hpp"

#include <algorithm>
#include <utility>

#include "comm/forwarding_connection.hpp"
#include "comm/forwarding_transport.hpp"
#include "comm/polled_stream.hpp"

namespace tenax::resilience {
namespace {

using comm::Connection;
using comm::Peer;
using kernels::Deadline;

/// Leaves one collective out.
class HangingCommunicator final : public comm::Communicator {
 public:
  HangingCommunicator(std::unique_ptr<comm::Communicator> inner, HangFaults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void all_reduce(kernels::Stream& stream, const kernels::Tensor& tensor, comm::ReduceOp op) override {
    if (!leaves_out()) inner_->all_reduce(stream, tensor, op);
  }
  comm::TransferPtr start_reduce_scatter(kernels::Stream& stream, const kernels::Tensor& tensor) override {
    if (leaves_out()) return std::make_unique<comm::DoneTransfer>();
    return inner_->start_reduce_scatter(stream, tensor);
  }
  comm::TransferPtr start_all_gather(kernels::Stream& stream, const kernels::Tensor& tensor) override {
    if (leaves_out()) return std::make_unique<comm::DoneTransfer>();
    return inner_->start_all_gather(stream, tensor);
  }
  void check() override { inner_->check(); }
  std::vector<int> ring_order() const override { return inner_->ring_order(); }
  std::unique_ptr<comm::RingChange> prepare_ring(const std::vector<int>& order) override {
    return inner_->prepare_ring(order);
  }
  comm::LinkTopology topology() const override { return inner_->topology(); }
  comm::Link* link(int peer) override { return inner_->link(peer); }

 private:
  bool leaves_out() { return size() > 1 && faults_.strikes(HangFault::Where::collective); }

  const std::unique_ptr<comm::Communicator> inner_;
  HangFaults& faults_;
};

class HangingWorld final : public comm::ForwardingWorld {
 public:
  HangingWorld(comm::World& world, HangFaults& faults, comm::CommOptions options)
      : ForwardingWorld(world, options), faults_(faults) {}

  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device& device) override {
    return std::make_unique<HangingCommunicator>(inner_.split_communicator(name, color, key, device),
                                                 faults_);
  }
  using ForwardingWorld::watch;
  std::unique_ptr<comm::Communicator> watch(std::unique_ptr<comm::Communicator> group,
                                            const std::string& name) override {
    return std::make_unique<HangingCommunicator>(inner_.watch(std::move(group), name), faults_);
  }

 private:
  HangFaults& faults_;
};

/// What it is given to send after the fault has come is gone, as on a half-open connection.
class HalfOpenConnection final : public comm::ForwardingConnection {
 public:
  HalfOpenConnection(std::unique_ptr<Connection> inner, HangFaults& faults)
      : ForwardingConnection(std::move(inner)), faults_(faults) {}
  void send(const comm::MessageHeader& header, std::span<const std::byte> payload,
            Deadline deadline) override {
    if (!loses_) loses_ = faults_.strikes(HangFault::Where::connection);
    if (!loses_) inner().send(header, payload, deadline);
  }

 private:
  HangFaults& faults_;
  std::atomic<bool> loses_{false};
};

class HalfOpenTransport final : public comm::ForwardingTransport {
 public:
  HalfOpenTransport(std::unique_ptr<comm::Transport> inner, HangFaults& faults)
      : ForwardingTransport(std::move(inner)), faults_(faults) {}

 private:
  // Between replicas bytes are a stream, which notices by itself that nothing is heard.
  std::unique_ptr<Connection> wrap(std::unique_ptr<Connection> connection, const Peer& peer,
                                   const std::string&) override {
    if (peer.replica >= 0) return connection;
    return std::make_unique<HalfOpenConnection>(std::move(connection), faults_);
  }

  HangFaults& faults_;
};

}  // namespace

void HangFaults::reach(StepPoint point, std::int64_t step) {
  if (point == StepPoint::passes) clock_.begin_step(step);
  if (next_) next_->reach(point, step);
}

bool HangFaults::strikes(HangFault::Where where) {
  const std::int64_t step = clock_.step();
  if (step < 0 || has_struck_) return false;
  const bool comes = std::any_of(faults_.begin(), faults_.end(), [&](const HangFault& fault) {
    return fault.where == where && fault.occasion.comes(step, clock_.run_s());
  });
  return comes && !has_struck_.exchange(true);
}

std::unique_ptr<comm::Transport> HangFaults::wrap(std::unique_ptr<comm::Transport> transport) {
  return std::make_unique<HalfOpenTransport>(std::move(transport), *this);
}

std::unique_ptr<comm::World> HangFaults::wrap(comm::World& world, comm::CommOptions options) {
  return std::make_unique<HangingWorld>(world, *this, options);
}

}  // namespace tenax::resilience
