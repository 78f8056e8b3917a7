#include "comm/ftar/ring_connections.hpp"

#include <exception>
#include <string>

#include "comm/ftar/ftar_error.hpp"
#include "comm/transport/connection_attempt.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

/// What goes wrong in `work` is that replica's fault.
template <class Work>
void blaming(int replica, Deadline deadline, Work work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.scope() != Scope::link) throw;
    throw FtarError({.cause = deadline.expired() ? FtarFailure::Cause::timeout : FtarFailure::Cause::peer,
                     .peer = replica,
                     .sentence = error.what()});
  }
}

}  // namespace

RingConnections connect_ring(const FtarRing& ring, Transport& transport, int connections,
                             const std::atomic<bool>& is_over, Deadline reach, Deadline deadline) {
  const auto attempt = [&](int index, int number, Deadline until) {
    const std::string purpose = std::string(kFtarPurpose) + std::to_string(ring.epoch) + "." +
                                std::to_string(ring.rank) + "." + std::to_string(number);
    return ConnectionAttempt(transport, ring.peers[static_cast<std::size_t>(index)], purpose, is_over, until);
  };
  RingConnections made;
  blaming(ring.after(), reach, [&] {
    for (int i = 0; i < connections; ++i) made.after.push_back(attempt(ring.after(), i, reach).connect());
  });
  blaming(ring.before(), deadline, [&] {
    for (int i = 0; i < connections; ++i) made.before.push_back(attempt(ring.before(), i, deadline).accept());
  });
  return made;
}

}  // namespace tenax::comm
