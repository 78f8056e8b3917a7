// IncomingHandshake: the accepting end of a socket, until its peer has proven itself.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "comm/transport/handshake.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// A process of this job, proven.
struct AuthenticatedSocket {
  FileDescriptor socket;  ///< non-blocking
  FileDescriptor memory;  ///< where the listener asks for some
  ConnectionRequest request;
  std::string address;                 ///< it was accepted on
  std::optional<Challenge> challenge;  ///< that it answered
};

/// Thread rule: one thread at a time. Nothing blocks.
class IncomingHandshake {
 public:
  /// Whether it is to send a descriptor (Unix sockets) once both ends have proven themselves.
  enum class Expects { nothing, memory };
  enum class Progress { waiting, complete, refused };

  IncomingHandshake(FileDescriptor socket, std::string address, Handshake handshake, Expects expects)
      : peer_{std::move(socket), {}, {}, std::move(address), {}},
        handshake_(std::move(handshake)),
        expects_(expects) {}

  /// Reads what has come, and answers it.
  Progress advance();
  bool is_proven() const { return handshake_.is_proven(); }
  /// For all that it has to say.
  kernels::Deadline deadline() const { return deadline_; }
  int socket() const { return peer_.socket.get(); }
  /// Once complete.
  AuthenticatedSocket take() { return std::move(peer_); }

 private:
  Progress receive_message();
  Progress receive_memory();

  AuthenticatedSocket peer_;
  Handshake handshake_;
  Expects expects_;
  std::array<std::byte, Handshake::kMostBytes> received_{};
  std::size_t received_bytes_ = 0;
  kernels::Deadline deadline_ = kernels::Deadline::after_s(5);
};

}  // namespace tenax::comm
