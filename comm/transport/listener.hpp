// Listener: the sockets of one kind of transport, and the way to peers' sockets of that kind.
// Connections that peers make become pending connections.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/connection.hpp"
#include "comm/transport/connection_request.hpp"
#include "comm/transport/pending_connections.hpp"
#include "comm/transport/transports.hpp"

namespace tenax::comm {

/// Thread rule: any thread.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::vector<std::string> addresses() const = 0;
  virtual bool can_reach(const std::string& address) const = 0;
  /// Connects to the process that the request names; both prove that they are of one job. Throws
  /// Error(link).
  virtual std::unique_ptr<Connection> connect(const std::string& address, const ConnectionRequest& request,
                                              kernels::Deadline deadline) = 0;
  /// As Transport's.
  virtual std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) {
    static_cast<void>(memory);
    return nullptr;
  }
  virtual std::unique_ptr<MemoryRegistration> register_device_memory(std::span<std::byte> memory,
                                                                     int dma_buf) {
    static_cast<void>(memory);
    static_cast<void>(dma_buf);
    return nullptr;
  }
};

/// `pending` must outlive the listener.
std::unique_ptr<Listener> create_tcp_listener(const TransportOptions& options, Identity me,
                                              PendingConnections& pending);
std::unique_ptr<Listener> create_shared_memory_listener(const TransportOptions& options, Identity me,
                                                        PendingConnections& pending);

/// What an address of RDMA begins with: that of its handshake over TCP follows.
inline constexpr const char* kVerbsPrefix = "verbs:";

inline bool is_shared_memory_address(const std::string& address) { return address.rfind("shm:", 0) == 0; }
/// Whether the process of that address is on this host: tried, not guessed from names of hosts.
bool is_reachable_in_shared_memory(const std::string& address);

}  // namespace tenax::comm
