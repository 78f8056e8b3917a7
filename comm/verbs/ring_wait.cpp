// What ends a connection, in the order in which it is told: this end, what somebody has noted (the other end among them), the
// port whose device flushed what was under way without a word, the other end, the device. A queue pair that the other end took
// down with itself fails here too; that it left is the reason then. A flush often comes sooner than the event that explains it.
#include "comm/verbs/ring_wait.hpp"

#include <algorithm>

namespace tenax::comm::verbs {

void RingWait::check() {
  if (peer_.is_shut_down()) throw_link_error(peer_.where(), "shut down");
  const bool has_left = peer_.look() != PeerSocket::State::open;
  const std::optional<CompletionFault>& fault = queue_pair_.fault();
  if (const auto noted = note_.get(); noted && (has_left || fault)) fail(*noted, sentence_of(*noted));
  if (const auto of_port = fault && !fault->reason ? queue_pair_.failure_of_port() : std::nullopt)
    fail(*of_port, sentence_of(*of_port));
  if (has_left) fail(BreakReason::peer_gone, sentence_of(BreakReason::peer_gone));
  if (fault) fail(fault->reason, fault->sentence());
}

void RingWait::check_known() {
  const bool may_be_over =
      queue_pair_.fault() || peer_.state() != PeerSocket::State::open || peer_.is_shut_down();
  if (may_be_over) check();
  check_progress();
}

/// A message that was just posted has had no chance yet.
void RingWait::check_progress() const {
  if (queue_pair_.sends_under_way() > 0 && kernels::steady_now_s() > progress_s_ + 2 * silence_s_)
    fail(BreakReason::no_answer, "nothing sent this way is acknowledged, and the device does not say why");
}

kernels::Deadline RingWait::next_look(kernels::Deadline deadline) const {
  if (queue_pair_.sends_under_way() == 0) return deadline;
  const auto look =
      kernels::Deadline::after_s(std::max(0.0, progress_s_ + 2 * silence_s_ - kernels::steady_now_s()));
  return look.when() < deadline.when() ? look : deadline;
}

void RingWait::fail(std::optional<BreakReason> reason, const std::string& sentence) const {
  if (reason) note_.set(*reason);
  throw_link_error(peer_.where(), sentence);
}

}  // namespace tenax::comm::verbs
