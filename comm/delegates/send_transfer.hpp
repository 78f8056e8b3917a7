// The transfer of a delegated send.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "comm/delegates/channel_observer.hpp"
#include "comm/delegates/outgoing_message.hpp"
#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/signal.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {

/// Why a link ended, for its sends; outlives the link.
class LinkFailure {
 public:
  /// The first counts.
  void set(const Failure& failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
  }
  bool is_set() const {
    const std::lock_guard lock(mutex_);
    return failure_.has_value();
  }
  void raise_if_set() const {
    const std::lock_guard lock(mutex_);
    if (failure_) failure_->raise();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
};

class SendTransfer final : public Transfer {
 public:
  /// `signal` must outlive the link, which sets `failure` at the latest when it is closed.
  SendTransfer(OutgoingPtr message, std::shared_ptr<const LinkFailure> failure, Signal& signal,
               std::string me, std::string peer);
  ~SendTransfer() override;

  bool done() override;
  void wait(kernels::Deadline deadline) override;
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override;
  bool orders_without_blocking() const override { return message_->copied != nullptr; }

 private:
  OutgoingPtr message_;
  std::shared_ptr<const LinkFailure> failure_;
  Signal& signal_;
  const std::string me_, peer_;
  Stopwatch stopwatch_;
};

}  // namespace tenax::comm
