#include "comm/inbox/inbox.hpp"

#include <cassert>

#include "comm/failure.hpp"
#include "comm/inbox/asynchronous_receive.hpp"
#include "comm/inbox/inbox_state.hpp"
#include "comm/inbox/message_delivery.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

/// Its tensor may be freed as soon as it is gone.
class InboxReceive final : public Transfer {
 public:
  using State = Inbox::State;
  using Phase = PostedReceive::Phase;
  InboxReceive(std::shared_ptr<State> state, PostedReceivePtr receive)
      : state_(std::move(state)), receive_(std::move(receive)) {}
  ~InboxReceive() override { state_->cancel(*receive_); }

  bool done() override { return phase() == Phase::done; }
  void wait(kernels::Deadline deadline) override { wait_for(Phase::done, deadline); }

  /// On a device the host goes on while the copy runs.
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override {
    wait_for(Phase::copying, deadline);
    const std::lock_guard lock(state_->mutex);
    if (receive_->copied) stream.wait(*receive_->copied);
    if (receive_->timing.arrived_s) stream.input_arrived(*receive_->timing.arrived_s);
  }

  TransferTiming timing() const override {
    const std::lock_guard lock(state_->mutex);
    return receive_->timing;
  }

 private:
  Phase phase() const {
    const std::lock_guard lock(state_->mutex);
    if (receive_->phase == Phase::failed) receive_->failure.raise();
    return receive_->phase;
  }

  void wait_for(Phase wanted, kernels::Deadline deadline) {
    if (phase() >= wanted) return;  // also when inbox and signal are gone
    if (!state_->signal.wait_until([&] { return phase() >= wanted; }, deadline))
      throw kernels::Error(kernels::Scope::link, timeout_sentence(receive_->describe(), state_->me,
                                                                  stopwatch_.elapsed_s(), state_->peer));
  }

  std::shared_ptr<State> state_;
  PostedReceivePtr receive_;
  Stopwatch stopwatch_;
};

Inbox::Inbox(kernels::Device& device, Signal& signal, std::string me, std::string peer, bool emulate_copies,
             SharedBufferPool* shared_buffers, Transport* transport)
    : state_(std::make_shared<State>(device, signal, std::move(me), std::move(peer), emulate_copies,
                                     shared_buffers, transport)) {}

Inbox::~Inbox() { state_->close(); }

TransferPtr Inbox::post(const kernels::Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  return std::make_unique<InboxReceive>(state_, state_->post(nullptr, tensor, tag));
}

TransferPtr Inbox::post(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) {
  if (!state_->copy_in) return post(tensor, tag);
  assert(tag >= 0 && tag < kMaxTag);
  return std::make_unique<AsynchronousReceive>(state_, state_->post(&stream, tensor, tag));
}

void Inbox::deliver(const MessageHeader& header, const Read& read) {
  MessageDelivery(*state_, header).read(read);
}

void Inbox::deliver_shared(const MessageHeader& header, const Await& await) {
  MessageDelivery(*state_, header).await(await);
}

std::uint64_t Inbox::copied_bytes() const { return state_->buffers.copied_bytes(); }

void Inbox::fail(std::exception_ptr error) { state_->fail(failure_of(error)); }

}  // namespace tenax::comm
