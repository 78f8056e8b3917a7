// Small texts between the ranks of an endpoint: the messages under ControlGroup, and under
// decisions that a group takes together while it is being built.
#pragma once

#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "comm/link.hpp"

namespace tenax::comm {

/// For how long exchanges wait for a peer: a deadline, which may be cut short.
class Patience {
 public:
  Patience(double deadline_s) : deadline_s_(deadline_s) {}

  /// Any thread, once. Exchanges that have begun have so many seconds left, and those to come have
  /// no more.
  void hurry(double seconds) noexcept {
    hurry_s_ = seconds;
    hurried_at_s_ = kernels::steady_now_s();
  }
  /// Throws the transfer's own error when an exchange that began at `begun_s` (steady clock) has
  /// lasted too long.
  void wait(Transfer& transfer, double begun_s) const;

 private:
  bool is_over(double begun_s) const;

  const double deadline_s_;
  std::atomic<double> hurry_s_ = 0;
  std::atomic<double> hurried_at_s_ = std::numeric_limits<double>::infinity();
};

/// Every rank's text, in rank order, on every rank. Throws Error(link) naming `operation` and the
/// silent rank. Direct exchange, so that each rank's error names the peer that is at fault and not
/// a go-between.
std::vector<std::string> exchange_texts(Endpoint& endpoint, const std::string& text,
                                        const std::string& operation, const Patience& patience);
/// root's text on every rank.
std::string broadcast_text(Endpoint& endpoint, const std::string& text, int root,
                           const std::string& operation, const Patience& patience);

}  // namespace tenax::comm
