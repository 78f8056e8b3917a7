// PolledStream: a connection as a stream of bytes, for a thread that serves several connections and
// blocks on none of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tenax::comm {

/// Both ends of a connection use it as a stream, or both by messages (Connection::send). Thread
/// rule: one thread; Connection::shut_down() from any.
class PolledStream {
 public:
  virtual ~PolledStream() = default;
  /// Takes as many bytes of `head`, then of `tail`, as there is room for, and returns their number.
  /// Throws Error(link) once the connection is broken.
  virtual std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) = 0;
  /// Bytes that have come; 0: none yet. What came before a connection broke can be read; then it
  /// throws Error(link).
  virtual std::size_t read_some(std::span<std::byte> bytes) = 0;

  /// What is passed to poll().
  virtual int socket() const = 0;
  /// The events for which the thread is to poll before it sleeps; nothing: there is something to
  /// read (or, where it `wants_room`, room to write) now.
  virtual std::optional<short> events_to_poll(bool wants_room) = 0;

  /// Nothing can be written before, steady clock; 0: whenever there is room.
  virtual double held_until_s() const { return 0; }

  /// Whether descriptors can be sent: the other end is a process of this host.
  virtual bool carries_descriptors() const { return false; }
  /// Sends an open file beside the stream, before all bytes that are written later. Throws
  /// Error(link).
  virtual void send_descriptor(int descriptor) { static_cast<void>(descriptor); }
  /// The next one that has come, to be closed by the caller; -1: none.
  virtual int receive_descriptor() { return -1; }
};

}  // namespace tenax::comm
