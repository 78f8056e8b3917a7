// PolledStream: a connection as a stream of bytes, for a thread that serves several connections and
// blocks on none of them.
#pragma once

#include <poll.h>

#include <cstddef>
#include <span>
#include <vector>

namespace tenax::comm {

/// Both ends of a connection use it as a stream, or both by messages (Connection::send). Thread
/// rule: one thread; Connection::shut_down() from any.
class PolledStream {
 public:
  virtual ~PolledStream() = default;
  /// Takes as many bytes of `head`, then of `tail`, as there is room for, and returns their number.
  /// Throws Error(link) once the connection is broken. Registered memory (Transport::register_memory) may be read
  /// until the other end has the bytes: who writes it changes it only after an answer to them, finish() or the
  /// connection's end. Other memory is read before this returns.
  virtual std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) = 0;
  /// Bytes that have come; 0: none yet. What came before a connection broke can be read; then it
  /// throws Error(link).
  virtual std::size_t read_some(std::span<std::byte> bytes) = 0;
  /// Bytes that have come, where they lie until take() or read_some(); none where they can only be read. Throws
  /// as read_some().
  virtual std::span<const std::byte> peek() { return {}; }
  /// So many of them have been used.
  virtual void take(std::size_t bytes) { static_cast<void>(bytes); }

  /// Its end is the end of the process at the other end.
  virtual int socket() const = 0;
  /// Adds what the thread is to poll before it sleeps. False: there is something to read (or, where it
  /// `wants_room`, room to write) now.
  virtual bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) = 0;
  /// Before the connection is shut down: waits a moment for what was written to arrive. Nothing is written or read
  /// any more.
  virtual void finish() {}

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
