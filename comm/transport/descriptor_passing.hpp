// Open files that one process of a host hands to another over a Unix socket.
#pragma once

#include <sys/types.h>

#include <string>

#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// With one byte, as the kernel sends no descriptor alone. Throws Error(link).
void send_descriptor(int socket, const std::string& where, int descriptor);

struct ReceivedByte {
  ssize_t result = 0;         ///< recvmsg's: 1; 0 at the end; -1 with errno
  FileDescriptor descriptor;  ///< that came with it; empty if none did, or more than one
};
/// Does not block.
ReceivedByte receive_byte(int socket);

}  // namespace tenax::comm
