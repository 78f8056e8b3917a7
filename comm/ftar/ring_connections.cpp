#include "comm/ftar/ring_connections.hpp"

#include <exception>
#include <string>

#include "comm/ftar/ftar_error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

constexpr double kFirstAttempt_s = 0.1, kLook_s = 0.005;

/// One connection in the making.
class Attempt {
 public:
  Attempt(Transport& transport, const Peer& peer, std::string purpose, const std::atomic<bool>& is_over,
          Deadline deadline)
      : transport_(transport),
        peer_(peer),
        purpose_(std::move(purpose)),
        is_over_(is_over),
        deadline_(deadline) {}

  /// An attempt that used up its time is made again with more of it: the peer may be far away, or stopped. One
  /// that failed before is not: nobody listens there.
  std::unique_ptr<Connection> connect() {
    for (double attempt_s = kFirstAttempt_s;; attempt_s *= 2) {
      const Deadline attempt = until(attempt_s);
      std::exception_ptr error;
      for (const std::string& address : peer_.addresses) try {
          return transport_.connect(peer_, address, purpose_, attempt);
        } catch (const Error&) {
          error = std::current_exception();
        }
      if (!error)
        throw Error(Scope::link, peer_.name + " offers no address to connect to; set comm.interfaces");
      if (!attempt.expired()) std::rethrow_exception(error);
      throw_if_over();
    }
  }

  std::unique_ptr<Connection> accept() {
    for (;;) try {
        return transport_.accept(peer_, purpose_, until(kLook_s));
      } catch (const Error&) {
        throw_if_over();
      }
  }

 private:
  Deadline until(double seconds) const {
    const Deadline soon = Deadline::after_s(seconds);
    return soon.when() < deadline_.when() ? soon : deadline_;
  }
  void throw_if_over() const {
    if (is_over_) throw Error(Scope::link, "connecting to " + peer_.name + " was given up");
    if (deadline_.expired())
      throw Error(Scope::link,
                  "no connection with " + peer_.name + " for " + purpose_ + " before the deadline");
  }

  Transport& transport_;
  const Peer& peer_;
  const std::string purpose_;
  const std::atomic<bool>& is_over_;
  const Deadline deadline_;
};

/// What goes wrong in `work` is that replica's fault.
template <class Work>
void blaming(int replica, Deadline deadline, Work work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.scope() != Scope::link) throw;
    using Cause = FtarFailure::Cause;
    throw FtarError({.cause = deadline.expired() ? Cause::timeout : Cause::peer,
                     .peer = replica,
                     .sentence = error.what()});
  }
}

}  // namespace

RingConnections connect_ring(const FtarRing& ring, Transport& transport, int connections,
                             const std::atomic<bool>& is_over, Deadline deadline) {
  const auto attempt = [&](int index, int number) {
    const std::string purpose = std::string(kFtarPurpose) + std::to_string(ring.epoch) + "." +
                                std::to_string(ring.rank) + "." + std::to_string(number);
    return Attempt(transport, ring.peers[static_cast<std::size_t>(index)], purpose, is_over, deadline);
  };
  RingConnections made;
  blaming(ring.after(), deadline, [&] {
    for (int i = 0; i < connections; ++i) made.after.push_back(attempt(ring.after(), i).connect());
  });
  blaming(ring.before(), deadline, [&] {
    for (int i = 0; i < connections; ++i) made.before.push_back(attempt(ring.before(), i).accept());
  });
  return made;
}

}  // namespace tenax::comm
