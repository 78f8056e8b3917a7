// A connection over TCP (IPv4 or IPv6).
#pragma once

#include <memory>
#include <string>

#include "comm/connection.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// `socket`: connected and non-blocking. `address` is what Connection::address() says. `silence_s`: a peer's host that
/// acknowledges nothing for so long is taken for dead.
std::unique_ptr<Connection> create_tcp_connection(FileDescriptor socket, std::string address,
                                                  double silence_s);

}  // namespace tenax::comm
