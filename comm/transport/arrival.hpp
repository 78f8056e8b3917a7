// Arrival: somebody who has connected to a listening socket and has not been welcomed yet.
#pragma once

#include <array>
#include <string>

#include "comm/transport/handshake.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// A process of this job, proven.
struct Visitor {
  FileDescriptor socket;  ///< non-blocking
  FileDescriptor memory;  ///< where the door asks for some
  Greeting greeting;
  std::string address;  ///< it was accepted on
};

/// Thread rule: one thread at a time. Nothing blocks.
class Arrival {
 public:
  /// Whether it is to send a descriptor (Unix sockets) once both ends have proven themselves.
  enum class Brings { nothing, memory };
  enum class Progress { waiting, complete, refused };

  Arrival(FileDescriptor socket, std::string address, Handshake handshake, Brings brings)
      : visitor_{std::move(socket), {}, {}, std::move(address)},
        handshake_(std::move(handshake)),
        brings_(brings) {}

  /// Reads what has come, and answers it.
  Progress attend();
  bool is_proven() const { return handshake_.is_proven(); }
  /// For all that it has to say.
  kernels::Deadline deadline() const { return deadline_; }
  int socket() const { return visitor_.socket.get(); }
  /// Once complete.
  Visitor take() { return std::move(visitor_); }

 private:
  Progress hear();
  Progress receive_memory();

  Visitor visitor_;
  Handshake handshake_;
  Brings brings_;
  std::array<std::byte, Handshake::kMostBytes> heard_{};
  std::size_t heard_bytes_ = 0;
  kernels::Deadline deadline_ = kernels::Deadline::after_s(5);
};

}  // namespace tenax::comm
