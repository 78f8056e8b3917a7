// MemoryTable: the memory of this process that RDMA devices may read and write, with its key for
// each device.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "comm/connection.hpp"
#include "comm/verbs/device.hpp"

struct ibv_mr;

namespace tenax::comm::verbs {

/// Memory registered on one device, for as long as it lives.
class RegisteredMemory {
 public:
  enum class Access { local, remote_write };
  /// `dma_buf`: of memory that the host cannot read, from its first byte on; −1: it is the host's. Throws
  /// Error(rank) when this process may not lock so much memory (it says how much it may), or the device takes none.
  RegisteredMemory(std::shared_ptr<Device> device, std::span<std::byte> memory, Access access,
                   int dma_buf = -1);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  std::uint32_t local_key() const;
  std::uint32_t remote_key() const;

 private:
  std::shared_ptr<Device> device_;
  ibv_mr* region_;
};

/// Whole pages of zeros, registered.
class RegisteredBuffer {
 public:
  RegisteredBuffer(std::shared_ptr<Device> device, std::size_t bytes, RegisteredMemory::Access access);
  std::span<std::byte> memory() const { return {pages_.get(), bytes_}; }
  const RegisteredMemory& registration() const { return registration_; }

 private:
  struct Free {
    void operator()(std::byte* pages) const;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> pages_;
  RegisteredMemory registration_;  // ends first
};

/// Nothing is registered behind malloc's back: users name memory and say when it ends. It gets its
/// keys for a device when it is first used there, so that devices that come later have one too.
///
/// Thread rule: any thread. It outlives what it gives.
class MemoryTable {
  struct Entry;

 public:
  /// While it lives, the memory stays registered.
  class Use {
   public:
    Use(MemoryTable& table, std::shared_ptr<Entry> entry, std::shared_ptr<const RegisteredMemory> memory)
        : table_(&table), entry_(std::move(entry)), memory_(std::move(memory)) {}
    Use(Use&&) = default;
    Use& operator=(Use&&) = delete;
    ~Use();
    std::uint32_t local_key() const { return memory_->local_key(); }
    /// Of memory that was found for `remote_write`.
    std::uint32_t remote_key() const { return memory_->remote_key(); }

   private:
    MemoryTable* table_;
    std::shared_ptr<Entry> entry_;
    std::shared_ptr<const RegisteredMemory> memory_;
  };

  /// When the registration ends it waits for the memory's uses, which end with their message. `dma_buf`: as
  /// Transport::register_device_memory's; −1: it is the host's memory.
  std::unique_ptr<MemoryRegistration> add(std::span<std::byte> memory, int dma_buf = -1);
  /// Nothing where `memory` is not within one registration, or the device cannot register it. A key for `remote_write`
  /// opens the whole registration, for as long as it lives.
  std::optional<Use> find(const std::shared_ptr<Device>& device, std::span<const std::byte> memory,
                          RegisteredMemory::Access access = RegisteredMemory::Access::local);
  /// Closes devices that have gone, as far as registrations hold them: each with its last use.
  void let_go_of_lost_devices();

 private:
  class Registration;
  void remove(const std::shared_ptr<Entry>& entry);

  std::mutex mutex_;
  std::condition_variable released_;
  std::map<const std::byte*, std::shared_ptr<Entry>> entries_;  // by their first byte
};

}  // namespace tenax::comm::verbs
