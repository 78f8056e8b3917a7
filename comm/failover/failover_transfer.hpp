// FailoverTransfer: one message of a FailoverLink, whatever path it is on.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/failover/failover_link.hpp"

namespace tenax::comm {

/// Must not be waited for once its iteration has ended, nor outlive the link.
class FailoverTransfer final : public Transfer {
 public:
  FailoverTransfer(FailoverLink& link, std::shared_ptr<FailoverMessage> message)
      : link_(link), message_(std::move(message)) {}
  /// Destroying a receive that the device waits for releases the device, though not necessarily
  /// before this returns.
  ~FailoverTransfer() override;

  bool done() override { return link_.poll(*message_); }
  /// A direct transfer that misses its deadline has failed. The delegates then get as long again,
  /// also when the other end noticed first.
  void wait(kernels::Deadline deadline) override;
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override;
  /// True on a direct path that can. If it breaks after that, the iteration is void
  /// (FailoverLink::is_void).
  bool orders_without_blocking() const override;
  TransferTiming timing() const override { return message_->timing; }

 private:
  bool try_order_before(kernels::Stream& stream, kernels::Deadline deadline);
  std::string describe() const;

  FailoverLink& link_;
  const std::shared_ptr<FailoverMessage> message_;
};

}  // namespace tenax::comm
