// MessageSocket: a connected socket whose two ends send each other texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/messages/message_frames.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// Nothing blocks. What the socket does not take at once waits here, up to kMostUnsentBytes. After
/// an Error the socket is of no more use.
///
/// Thread rule: one thread at a time.
class MessageSocket {
 public:
  static constexpr std::size_t kMostUnsentBytes = 8 * kMostMessageBytes;

  /// `socket`: TCP, connected, non-blocking, its other end proven. `silence_s`: a host that
  /// acknowledges nothing for so long is taken for dead. `is_patient`: as set_patient_tcp_options() has it.
  MessageSocket(FileDescriptor socket, double silence_s, bool is_patient = false);

  int descriptor() const { return socket_.get(); }
  /// This end and the other, for people.
  const std::string& name() const { return name_; }

  /// Throws Error(link) when the connection is lost, or the other end reads nothing and too much
  /// waits for it.
  void send(std::string_view text);
  /// Sends of what waits as much as the socket takes; call it when that has room. Throws as send().
  void flush();
  bool has_unsent() const { return !unsent_.empty(); }
  /// Reads once, and appends the messages that are whole. Call it when there is something to read;
  /// again as long as there is. Throws Error(link) when the other end has closed, the connection is
  /// lost, or what has come is no message.
  void read(std::vector<std::string>& messages);
  /// Nothing more is sent: the other end sees the end behind the last message.
  void finish() noexcept;

 private:
  FileDescriptor socket_;
  std::string name_, unsent_;
  FrameReader frames_;
};

}  // namespace tenax::comm
