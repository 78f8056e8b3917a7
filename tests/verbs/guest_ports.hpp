// Transports over a guest's soft RDMA devices (guest_main.sh): rxe_aN on the interface aN and rxe_bN on bN,
// which a cable joins.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/verbs/ports.hpp"
#include "tests/comm/verbs/verbs_transport.hpp"

namespace tenax::comm::verbs {

/// Of that device alone, which is asked anew for each connection, and is not watched.
inline std::unique_ptr<Transport> transport_over(const std::string& device, double silence_s,
                                                 const JobSecret& secret = one_job()) {
  VerbsOptions options;
  options.ports = [device] {
    return std::vector<Port>{
        Ports({.patterns = {{device}}, .interfaces = {}}, std::nullopt).chosen().front().port};
  };
  options.path.silence_s = silence_s;
  return verbs_transport(options, secret);
}

}  // namespace tenax::comm::verbs
