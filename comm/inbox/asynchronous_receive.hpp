// The transfer of a receive on an asynchronous device.
#pragma once

#include "comm/inbox/inbox_state.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

class AsynchronousReceive final : public Transfer {
 public:
  using State = Inbox::State;
  using Phase = PostedReceive::Phase;
  AsynchronousReceive(std::shared_ptr<State> state, PostedReceivePtr receive)
      : state_(std::move(state)), receive_(std::move(receive)) {}
  /// Its tensor may be freed as soon as it is gone. Given up before it was done, it fails the inbox
  /// if the device waits for its message.
  ~AsynchronousReceive() override;

  bool done() override;
  void wait(kernels::Deadline deadline) override;
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override;
  bool orders_without_blocking() const override { return true; }
  TransferTiming timing() const override { return timing_; }

 private:
  bool is_coming() const;
  bool is_received() const;
  template <class Ready>
  void await(Ready ready, kernels::Deadline deadline);
  void enqueue();
  void draw_tickets();
  CopyIn& copy_in() const;
  void cancel_message();
  void give_back(bool has_arrived);
  void finish();

  std::shared_ptr<State> state_;
  PostedReceivePtr receive_;
  bool is_enqueued_ = false, is_done_ = false;
  TransferTiming timing_;
  Stopwatch stopwatch_;
};

}  // namespace tenax::comm
