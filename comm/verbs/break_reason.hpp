// Why a connection over RDMA broke, and what a failed completion says of it.
#pragma once

#include <atomic>
#include <optional>
#include <string>

namespace tenax::comm::verbs {

/// Why a connection broke. A flushed completion is none: it follows from another failure.
enum class BreakReason {
  port_down,       ///< the own port is not active, or carries nothing
  peer_port_down,  ///< the peer's, as it says itself
  device_lost,     ///< the own device has failed, or is gone
  no_answer,       ///< nothing sent was acknowledged: this pair of ports is suspect
  peer_gone,       ///< the peer's process or host has ended
  own_fault,       ///< wrong keys, lengths or states, or no receive in time: of tenax, and of no port
};

/// As events say it: "port_down", …
const char* name_of(BreakReason reason);
/// For errors: "the port at the other end is down".
const char* sentence_of(BreakReason reason);

/// What ended a connection: the first reason counts. Thread rule: any thread.
class BreakNote {
 public:
  /// Whether it was the first.
  bool set(BreakReason reason) {
    int none = kNone;
    return reason_.compare_exchange_strong(none, static_cast<int>(reason));
  }
  /// Nothing: it is whole, or its own user has shut it down.
  std::optional<BreakReason> get() const {
    const int reason = reason_;
    return reason == kNone ? std::nullopt : std::optional(static_cast<BreakReason>(reason));
  }

 private:
  static constexpr int kNone = -1;
  std::atomic<int> reason_{kNone};
};

struct CompletionFault {
  std::optional<BreakReason> reason;  ///< nothing: it was flushed
  std::string text;                   ///< what the device said, for people

  std::string sentence() const;  ///< what happened, for errors
};

/// `status`: an ibv_wc_status other than IBV_WC_SUCCESS.
CompletionFault fault_of_status(int status);
/// `error_number`: of a call that posts or arms.
CompletionFault fault_of_call(const std::string& call, int error_number);

}  // namespace tenax::comm::verbs
