#include "comm/ftar/ring_connector.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "comm/ftar/ftar_error.hpp"
#include "comm/transport/connection_attempt.hpp"
#include "comm/transport/listener.hpp"
#include "comm/transport/tcp_socket.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

constexpr auto kPause = std::chrono::milliseconds(20);  // before a peer that refused is asked again

/// What goes wrong in `work` is that replica's fault.
template <class Work>
auto blaming(int replica, Deadline deadline, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.scope() != Scope::link) throw;
    throw FtarError({.cause = deadline.expired() ? FtarFailure::Cause::timeout : FtarFailure::Cause::peer,
                     .peer = replica,
                     .sentence = error.what()});
  }
}

}  // namespace

RingConnector::Attempt RingConnector::connect_after(int number, Deadline deadline) const {
  return kernels::new_async(
      [this, number, deadline] { return make(number, deadline, ConnectionAttempt::kWholeHandshake_s); });
}

RingConnector::Attempt RingConnector::reconnect_after(int number, Deadline deadline) const {
  return kernels::new_async([this, number, deadline] { return make_again(number, deadline); });
}

RingConnector::Attempt RingConnector::accept_before(int number, Deadline deadline) const {
  return kernels::new_async([this, number, deadline] { return accept(number, deadline); });
}

bool RingConnector::has_other_way(const Connection& connection) const {
  const std::string& used = connection.address();
  const std::vector<std::string>& all = ring_.peers[static_cast<std::size_t>(ring_.after())].addresses;
  return used.starts_with(kTcpPrefix) && std::any_of(all.begin(), all.end(), [&](const std::string& address) {
           return address != used && !is_shared_memory_address(address);
         });
}

std::unique_ptr<Connection> RingConnector::make(int number, Deadline deadline, double rdma_s) const {
  const Peer& peer = ring_.peers[static_cast<std::size_t>(ring_.after())];
  return blaming(ring_.after(), deadline, [&] {
    return ConnectionAttempt(transport_, peer, purpose(number), is_over_, deadline, {.rdma_s = rdma_s})
        .connect();
  });
}

std::unique_ptr<Connection> RingConnector::make_again(int number, Deadline deadline) const {
  for (;;) try {
      return make(number, deadline, 0);
    } catch (const FtarError&) {
      if (is_over_ || deadline.expired()) throw;
      std::this_thread::sleep_for(kPause);
    }
}

std::unique_ptr<Connection> RingConnector::accept(int number, Deadline deadline) const {
  const Peer& peer = ring_.peers[static_cast<std::size_t>(ring_.before())];
  return blaming(ring_.before(), deadline, [&] {
    return ConnectionAttempt(transport_, peer, purpose(number), is_over_, deadline).accept();
  });
}

std::string RingConnector::purpose(int number) const {
  return std::string(kFtarPurpose) + std::to_string(ring_.epoch) + "." + std::to_string(ring_.rank) + "." +
         std::to_string(number);
}

}  // namespace tenax::comm
