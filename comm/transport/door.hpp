// Door: one kind of transport: its listening end (who enters waits in the lobby) and the way to others' doors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/connection.hpp"
#include "comm/transport/greeting.hpp"
#include "comm/transport/lobby.hpp"
#include "comm/transport/transports.hpp"

namespace tenax::comm {

/// Thread rule: any thread.
class Door {
 public:
  virtual ~Door() = default;
  virtual std::vector<std::string> addresses() const = 0;
  virtual bool leads_to(const std::string& address) const = 0;
  /// Connects, and proves to be of the job of the process that the greeting is for. Throws Error(link).
  virtual std::unique_ptr<Connection> connect(const std::string& address, const Greeting& greeting,
                                              kernels::Deadline deadline) = 0;
};

/// `lobby` must outlive the door.
std::unique_ptr<Door> create_tcp_door(const TransportOptions& options, Identity me, Lobby& lobby);
std::unique_ptr<Door> create_shared_memory_door(const TransportOptions& options, Identity me, Lobby& lobby);

}  // namespace tenax::comm
