// Asking a device what a port is like.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/verbs/gid_choice.hpp"
#include "comm/verbs/port.hpp"

namespace tenax::comm::verbs {

/// A port as it was when it was asked.
struct PortStatus {
  std::string name;      ///< "mlx5_0:1"
  std::string state;     ///< "ACTIVE", "DOWN", …; "LOST" where the device does not answer
  Port port;             ///< where it does not answer: its number alone, without the device
  std::string obstacle;  ///< "is DOWN": why it cannot be used; empty where it can

  bool is_usable() const { return obstacle.empty(); }
};

/// Asks anew: state, speed, MTU and addresses. Throws nothing: a device that does not answer is an
/// obstacle. `number` counts from 1.
PortStatus query_port(const std::shared_ptr<Device>& device, int number, const GidRules& rules);

/// How many ports the device has; 0 where it does not answer.
int ports_of(const Device& device);

/// Gigabits a second of a link that has `width` lanes of `speed`, in the codes of enum ibv_port_attr.
double link_gbps(int width, int speed);

}  // namespace tenax::comm::verbs
