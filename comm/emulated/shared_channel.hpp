// SharedChannel: the wire between two ranks when both directions share it, one transfer at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/emulated/channel_arbiter.hpp"
#include "comm/emulated/outlet.hpp"
#include "comm/failure.hpp"

namespace tenax::comm {

/// One end of it. Messages wait in a queue without bounds. The ends talk over `control`, a
/// connection of their own: the upper end asks the lower one, where the arbiter is, for each
/// message, and says when its transfer has ended.
class SharedChannel final : public Outlet {
 public:
  SharedChannel(ChannelEnd end, bool paired, std::unique_ptr<Connection> control, double deadline_s);
  ~SharedChannel() override;
  /// Does not block.
  void enter(Outgoing message, kernels::Stream& stream) override;

 private:
  enum Kind : std::int32_t { request, release, grant };

  void end_sender();
  void transmit_messages();
  std::optional<double> wait_for_grant(std::unique_lock<std::mutex>& lock);
  void listen();
  void check(const MessageHeader& header) const;
  // With the mutex held; `time_s` is when it should have happened, whatever threads woke late:
  void post(Kind kind, double time_s);
  void arbitrate(Kind kind, ChannelEnd from, double time_s);
  void tell_other_end(Kind kind, double time_s);
  void take_grant(double time_s);
  void break_down(std::exception_ptr error);

  const ChannelEnd end_;
  const double deadline_s_;
  std::unique_ptr<Connection> control_;
  std::mutex mutex_;  ///< guards all below, and sending on the control connection
  std::condition_variable changed_;
  std::deque<Outgoing> messages_;  ///< the first is in transit or the next to go
  ChannelArbiter arbiter_;         ///< used at the lower end alone
  std::deque<double> grants_s_;    ///< not used yet: from when on
  bool closing_ = false;
  std::optional<Failure> failure_;  ///< the control connection's: no grant will come any more
  std::thread sender_, listener_;   ///< after what they use
};

}  // namespace tenax::comm
