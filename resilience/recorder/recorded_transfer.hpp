// RecordedTransfer: a transfer of which the recorder hears when it ends, and whether somebody waits for it.
#pragma once

#include <utility>

#include "comm/transfer.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

class RecordedTransfer final : public comm::Transfer {
 public:
  /// `recorder` must outlive it.
  RecordedTransfer(comm::TransferPtr inner, Recorder& recorder, Recorder::Ticket ticket)
      : inner_(std::move(inner)), recorder_(recorder), ticket_(ticket) {}
  ~RecordedTransfer() override { end(); }

  bool done() override {
    if (!has_ended_) recorder_.look(ticket_);
    const bool is_done = inner_->done();
    if (is_done) end();
    return is_done;
  }
  void wait(kernels::Deadline deadline) override {
    recorder_.stand(ticket_, true);
    inner_->wait(deadline);
    end();
  }
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override {
    const bool blocks = !inner_->orders_without_blocking();
    if (blocks) recorder_.stand(ticket_, true);
    inner_->order_before(stream, deadline);
    if (blocks) end();
  }
  bool orders_without_blocking() const override { return inner_->orders_without_blocking(); }
  void cancel(kernels::Deadline deadline) override { inner_->cancel(deadline); }
  comm::TransferTiming timing() const override { return inner_->timing(); }

 private:
  void end() {
    if (!std::exchange(has_ended_, true)) recorder_.end(ticket_);
  }

  const comm::TransferPtr inner_;
  Recorder& recorder_;
  const Recorder::Ticket ticket_;
  bool has_ended_ = false;
};

}  // namespace tenax::resilience
