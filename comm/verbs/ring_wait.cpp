// What ends a connection, in the order in which it is told: this end, the other end, the device. A queue pair that the other
// end took down with itself fails here too; that it left is the reason then.
#include "comm/verbs/ring_wait.hpp"

#include <algorithm>

namespace tenax::comm::verbs {

void RingWait::check() {
  if (peer_.is_shut_down()) fail("shut down");
  if (peer_.look() != PeerSocket::State::open) fail("the process at the other end has left");
  if (queue_pair_.fault()) fail(queue_pair_.fault()->sentence());
}

/// A message that was just posted has had no chance yet.
void RingWait::check_progress() const {
  if (queue_pair_.sends_under_way() > 0 && kernels::steady_now_s() > progress_s_ + 2 * silence_s_)
    fail("nothing sent this way is acknowledged, and the device does not say why");
}

kernels::Deadline RingWait::next_look(kernels::Deadline deadline) const {
  if (queue_pair_.sends_under_way() == 0) return deadline;
  const auto look =
      kernels::Deadline::after_s(std::max(0.0, progress_s_ + 2 * silence_s_ - kernels::steady_now_s()));
  return look.when() < deadline.when() ? look : deadline;
}

void RingWait::fail(const std::string& reason) const { throw_link_error(peer_.where(), reason); }

}  // namespace tenax::comm::verbs
