// Transports of RDMA alone, for tests on fake devices and on those of a guest.
#pragma once

#include <memory>

#include "comm/transport/transports.hpp"
#include "comm/verbs/verbs_listener.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::comm::verbs {

/// Where nothing fails: what a busy machine holds up is no silence.
inline constexpr double kPatience_s = 20;

/// Its handshakes go over loopback. Both ends of a test are in one process.
inline std::unique_ptr<Transport> verbs_transport(const VerbsOptions& options,
                                                  const JobSecret& secret = one_job()) {
  const auto listener = [options](const TransportOptions& transport, Identity me,
                                  PendingConnections& pending) {
    return create_verbs_listener(options, transport, me, pending);
  };
  return create_transport({.kind = TransportKind::verbs,
                           .interfaces = {"127.0.0.1"},
                           .deadline_s = 20,
                           .secret = secret,
                           .create_verbs_listener = listener});
}

}  // namespace tenax::comm::verbs
