// MessageBuffers: the host memory that messages pass through on their way into tensors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/host_staging.hpp"

namespace tenax::comm {

/// Thread rule: any thread, but as each function says.
class MessageBuffers {
 public:
  /// `shared`: of the link, on asynchronous devices, else null. `transport`: has the host buffers registered (null: none
  /// does). All must outlive it.
  MessageBuffers(kernels::Device& device, SharedBufferPool* shared, Transport* transport);

  /// Posting thread, of an asynchronous device: memory for a receive that is posted, shared with
  /// the sender where that can be.
  HostBuffer take(Tag tag, std::uint64_t number, std::size_t bytes);
  /// Reads a message of `bytes` that nobody here expects. Memory beyond `known` bytes is taken only
  /// as the bytes come.
  HostBuffer read(std::size_t bytes, std::size_t known,
                  const std::function<void(std::span<std::byte>)>& read);
  /// For buffers from read(), or from take() without shared memory.
  void give_back(HostBuffer buffer) { staging_->give_back(std::move(buffer)); }
  /// For buffers from take(). `has_arrived`: nobody writes into it any more.
  void give_back(HostBuffer buffer, Tag tag, std::uint64_t number, bool has_arrived);

  /// Whether messages may come in shared buffers.
  bool has_shared() const { return shared_ && shared_->is_open(); }
  // By MessageHeader::shared_buffer:
  bool is_own(std::uint64_t id) const { return shared_->is_own(SharedBufferId::of_code(id)); }
  /// Throws Error(link) where it cannot be mapped, or is smaller than `bytes`.
  void check_shared(std::uint64_t id, std::size_t bytes) {
    shared_->memory(SharedBufferId::of_code(id), bytes);
  }
  /// The buffer stays that message's, which came before its receive (SharedBufferPool::retain).
  void retain_shared(std::uint64_t id, Tag tag, std::uint64_t number);
  void copy_from_shared(std::uint64_t id, std::span<std::byte> memory);
  /// The message in it has been read.
  void release_shared(std::uint64_t id, Tag tag, std::uint64_t number, bool has_arrived = true);

  /// Bytes of messages that this process has copied from host memory to host memory.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  void count_copied(std::uint64_t bytes) { copied_bytes_ += bytes; }

  /// Copies between host buffers and the device; not for asynchronous ones.
  HostStaging& staging() { return *staging_; }
  /// Frees the host buffers that are not in use. Only give_back of take() may follow.
  void close() { staging_.reset(); }

 private:
  kernels::Device& device_;
  SharedBufferPool* const shared_;
  std::unique_ptr<HostStaging> staging_;
  std::atomic<std::uint64_t> copied_bytes_ = 0;
};

}  // namespace tenax::comm
