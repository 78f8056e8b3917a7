// The secret that all transports of a test share, as those of one job do.
#pragma once

#include "comm/transport/job_secret.hpp"

namespace tenax::comm {

/// Drawn when it is first asked for: before a fork, if both processes need it.
inline const JobSecret& one_job() {
  static const JobSecret secret = JobSecret::draw();
  return secret;
}

}  // namespace tenax::comm
