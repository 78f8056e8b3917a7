// The kinds of connections, each made from a socket whose other end is proven.
#pragma once

#include <memory>
#include <string>

#include "comm/connection.hpp"
#include "comm/transport/shared_memory_area.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// `socket`: connected and non-blocking. `address` is what Connection::address() says. `silence_s`:
/// a peer's host that acknowledges nothing for so long is taken for dead.
std::unique_ptr<Connection> create_tcp_connection(FileDescriptor socket, std::string address,
                                                  double silence_s);

/// A new segment for one connection, as an open file without a name: it is gone with the last
/// process that has it, however that ends. Throws Error(link) when the host has no memory for it.
FileDescriptor create_connection_memory(const std::string& where);

/// Maps the segment in `memory`. `socket`: a Unix socket to the other process, which tells when
/// that is gone. No message goes over it, but descriptors, and bytes that wake an end that polls.
/// Throws Error(link) when the segment is not as create_connection_memory made it.
std::unique_ptr<Connection> create_shared_memory_connection(FileDescriptor memory, FileDescriptor socket,
                                                            std::string address, ConnectionEnd end);

}  // namespace tenax::comm
