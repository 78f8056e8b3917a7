#include "comm/transport/connection_attempt.hpp"

#include <algorithm>

#include "comm/transport/listener.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

constexpr double kLongestAttempt_s = 1, kLook_s = 0.005;
constexpr double kRefusal_s =
    0.1;  // who refuses does so at once: what takes longer ran into a deadline within the attempt

}  // namespace

std::unique_ptr<Connection> ConnectionAttempt::connect() {
  const double longest_s = std::max(slices_.first_s, kLongestAttempt_s);
  for (double attempt_s = slices_.first_s;; attempt_s = std::min(2 * attempt_s, longest_s)) {
    if (auto connection = connect_once(attempt_s)) return connection;
    throw_if_over();
  }
}

// Throws what the last address did; null where one used up its time.
std::unique_ptr<Connection> ConnectionAttempt::connect_once(double attempt_s) {
  bool was_too_short = false;
  for (const std::string& address : peer_.addresses) {
    throw_if_over();
    const Deadline attempt = until(time_for(address, attempt_s));
    const double begun_s = kernels::steady_now_s();
    try {
      return transport_.connect(peer_, address, purpose_, attempt);
    } catch (const Error& error) {
      last_ = error.what();
      was_too_short |= attempt.expired() || kernels::steady_now_s() - begun_s >= kRefusal_s;
      if (&address != &peer_.addresses.back()) continue;
      if (was_too_short) return nullptr;
      throw;
    }
  }
  throw Error(Scope::link, peer_.name + " offers no address to connect to; set comm.interfaces");
}

double ConnectionAttempt::time_for(const std::string& address, double attempt_s) const {
  return address.starts_with(kVerbsPrefix) ? std::max(attempt_s, slices_.rdma_s) : attempt_s;
}

std::unique_ptr<Connection> ConnectionAttempt::accept() {
  for (;;) try {
      return transport_.accept(peer_, purpose_, until(kLook_s));
    } catch (const Error&) {
      throw_if_over();
    }
}

Deadline ConnectionAttempt::until(double seconds) const {
  const Deadline soon = Deadline::after_s(seconds);
  return soon.when() < deadline_.when() ? soon : deadline_;
}

void ConnectionAttempt::throw_if_over() const {
  if (is_over_) throw Error(Scope::link, "connecting to " + peer_.name + " was given up");
  if (deadline_.expired())
    throw Error(Scope::link, "no connection with " + peer_.name + " for " + purpose_ +
                                 " before the deadline" +
                                 (last_.empty() ? "" : " (last attempt: " + last_ + ")"));
}

}  // namespace tenax::comm
