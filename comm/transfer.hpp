// Transfer: a message or collective under way.
#pragma once

#include <memory>
#include <optional>

#include "kernels/device.hpp"

namespace tenax::comm {

/// When a received message travelled, for measuring links. Unknown parts are absent.
struct TransferTiming {
  std::optional<double> started_s;  ///< transmission began, sender's steady clock
  std::optional<double> arrived_s;  ///< complete at this rank, own steady clock
};

/// Owned by whoever started it; the tensors it reads or writes must outlive it. Used by one thread.
/// Destroying a transfer that is not done is allowed only while an error unwinds the stack, or
/// after cancel.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;
  /// Makes progress; true when complete. Throws Error naming the operation, the ranks and the hosts
  /// if it failed.
  virtual bool done() = 0;
  /// Blocks the host until complete. Throws Error(link) on expiry.
  virtual void wait(kernels::Deadline deadline) = 0;
  /// Later operations of `stream` see the result. Blocks the host only where the back end has no
  /// other way (CPU): what the host has seen, whatever it enqueues next will see.
  virtual void order_before(kernels::Stream& /*stream*/, kernels::Deadline deadline) { wait(deadline); }
  /// True when order_before would return at once though the transfer is not done: the device does
  /// the waiting. If the transfer fails later, `stream` goes on with whatever the memory holds:
  /// nobody may use what it computes before done() was true.
  virtual bool orders_without_blocking() const { return false; }
  /// Called for a transfer that is not done and will not be waited for; then it is destroyed. On
  /// return nothing writes a receive's tensor any more, and the message may be lost. Throws
  /// Error(link) on expiry. (Where destroying a receive waits for whoever writes its tensor, there
  /// is nothing to do here.) A send ends when it can, and may read its tensor until then.
  virtual void cancel(kernels::Deadline) {}
  /// A receive's times, once it is done. Implementations that cannot tell (MPI) return nothing.
  virtual TransferTiming timing() const { return {}; }
};
using TransferPtr = std::unique_ptr<Transfer>;

class DoneTransfer final : public Transfer {
 public:
  bool done() override { return true; }
  void wait(kernels::Deadline) override {}
};

}  // namespace tenax::comm
