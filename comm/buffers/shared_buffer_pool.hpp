// SharedBufferPool: host memory that carries a link's messages between two processes of one host.
// The sender's copy engine writes it and the receiver's reads it: no processor touches a message.
// Threads carry the headers, and say how much has been written.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/buffers/buffer_mapper.hpp"
#include "comm/host_staging.hpp"

namespace tenax::comm {

/// Sender or receiver, whoever comes to a message first, offers a buffer of its own for it
/// (buffer_directory.hpp). Messages have none before open() at both ends, below the size of a page,
/// and where host or device have no room: they go another way. A buffer that only one end knows of
/// serves that end as any other memory.
///
/// A buffer is its message's until both ends have released it. It is lost to the link if its
/// receive is cancelled while the sender's device may still write there.
class SharedBufferPool {
 public:
  /// `end`: 0 where the link connects, 1 where it accepts. `device` must outlive the pool, and the
  /// pool the streams that use its buffers.
  SharedBufferPool(kernels::Device& device, int end) : device_(device), end_(end) {}
  SharedBufferPool(const SharedBufferPool&) = delete;
  SharedBufferPool& operator=(const SharedBufferPool&) = delete;

  /// Any thread, once. Throws Error(link) where the area cannot be used.
  void open(std::shared_ptr<SharedMemoryArea> area);

  MessageKey outgoing(Tag tag, std::uint64_t number) const { return {end_, tag, number}; }
  MessageKey incoming(Tag tag, std::uint64_t number) const { return {1 - end_, tag, number}; }

  /// Posting thread (at the sender, before it enqueues a copy): the message's buffer as a host
  /// buffer without event and stream; empty if it has none.
  HostBuffer buffer_for(const MessageKey& key, std::size_t bytes);

  // Any thread:
  /// Sender: the peer has the message, or will never have it.
  void release_sent(const MessageKey& key, SharedBufferId buffer);
  /// Receiver: nothing reads the buffer any more. `has_arrived`: nor will the sender write it.
  void release_received(const MessageKey& key, SharedBufferId buffer, bool has_arrived);
  /// Whether there are shared buffers: open() has been called.
  bool is_open() const { return opened() != nullptr; }
  bool is_own(SharedBufferId buffer) const { return buffer.end == end_; }
  /// Receiver, for a message that came before its receive: the buffer stays the message's though
  /// the sender releases it. May be called again. Throws Error(link) if the sender does not offer
  /// it for that message.
  void retain(const MessageKey& key, SharedBufferId buffer);
  /// Its memory, for a message of `bytes`. Throws Error(link) where it cannot be mapped, or is
  /// smaller.
  std::shared_ptr<std::byte> memory(SharedBufferId buffer, std::size_t bytes);
  /// Sender: so many bytes have been written.
  void fill(SharedBufferId buffer, std::size_t bytes);
  /// Receiver: waits for that. `is_over`: as for FutexEvent::wait.
  FutexEvent::Outcome await(SharedBufferId buffer, std::size_t bytes, const std::function<bool()>& is_over,
                            kernels::Deadline deadline);

 private:
  struct Opened {
    Opened(kernels::Device& device, int end, const std::shared_ptr<SharedMemoryArea>& area,
           std::shared_ptr<std::byte> table_memory);
    std::shared_ptr<std::byte> table;
    BufferDirectory directory;
    BufferMapper mapper;
  };
  struct Released {
    MessageKey key;
    SharedBufferId buffer;
  };
  Opened* opened() const { return opened_.load(std::memory_order_acquire); }
  HostBuffer accept_offered(Opened& open, const MessageKey& key, SharedBufferId buffer, std::size_t bytes);
  HostBuffer view_of(Opened& open, const MessageKey& key, SharedBufferId buffer);
  void collect_released(Opened& open);

  kernels::Device& device_;
  const int end_;
  std::unique_ptr<Opened> owner_;
  std::atomic<Opened*> opened_ = nullptr;
  std::mutex mutex_;
  std::vector<Released>
      released_;  // buffers of this end whose sent messages the peer has, but may still read
};

}  // namespace tenax::comm
