// Why a connection over RDMA broke.
#pragma once

namespace tenax::comm::verbs {

/// Why a connection broke. A flushed completion is none: it follows from another failure.
enum class BreakReason {
  port_down,       ///< the own port is not active, or carries nothing
  peer_port_down,  ///< the peer's, as it says itself
  device_lost,     ///< the own device has failed, or is gone
  no_answer,       ///< nothing sent was acknowledged: this pair of ports is suspect
  peer_gone,       ///< the peer's process or host has ended
  own_fault,       ///< wrong keys, lengths or states, or no receive in time: of tenax, and of no port
};

}  // namespace tenax::comm::verbs
