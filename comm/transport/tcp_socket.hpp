// Sockets of TCP: those that listen, those that are connected, and the text of their addresses,
// "tcp:10.0.0.5:4000#IDENTITY" or "tcp:[fd00::2]:4000#IDENTITY".
#pragma once

#include <string>
#include <vector>

#include "comm/transport/incoming_handshakes.hpp"

namespace tenax::comm {

inline constexpr const char* kTcpPrefix = "tcp:";

/// Listens at a port of an address of this host, both as numbers; port "0": a free one. Throws
/// Error(link) where that is not possible (an IPv6 address may still be tentative).
ListeningSocket listen_at(const std::string& host, const std::string& port, Identity me);

/// A free port on each of the interfaces (names or addresses; none = all that are up) that can be
/// listened on. Throws Error(rank) where none can.
std::vector<ListeningSocket> listen_on_interfaces(const std::vector<std::string>& interfaces, Identity me);

/// A non-blocking socket, connected to the address. Throws Error(link).
FileDescriptor connect_tcp(const std::string& address, kernels::Deadline deadline);

/// Messages leave at once. A peer's host that acknowledges nothing for `silence_s` is taken for dead, and so is one whose
/// process leaves all that was sent unread for so long: the kernel tells them not apart.
void set_tcp_options(int socket, double silence_s);

/// Likewise, but a peer's process may leave unread for any time what was sent. The price: a host that dies while
/// something is on its way to it is noticed only after minutes. Who always sends must see by other means that there are
/// answers.
void set_patient_tcp_options(int socket, double silence_s);

/// A peer's host that does not answer for `silence_s` is taken for dead, though nothing is sent. 0: nobody asks.
void keep_tcp_alive(int socket, double silence_s);

/// "tcp 10.0.0.1:4000 - 10.0.0.2:5000": this end and the other, for people.
std::string describe_tcp_socket(int socket);

}  // namespace tenax::comm
