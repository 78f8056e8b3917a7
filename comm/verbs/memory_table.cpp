#include "comm/verbs/memory_table.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "comm/failure.hpp"
#include "comm/transport/socket.hpp"
#include "comm/verbs.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kPage = 4096;

std::string mebibytes(std::size_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

std::string locked_memory_allowed() {
  const auto allowed = locked_memory_bytes();
  return allowed ? mebibytes(static_cast<std::size_t>(*allowed)) : "any amount";
}

[[noreturn]] void refuse(const Device& device, std::size_t bytes, int error_number) {
  const std::string where = "RDMA device " + device.name() + " of " + this_host();
  if (error_number != ENOMEM)
    throw kernels::Error(kernels::Scope::rank,
                         where + " registers no memory (" + std::strerror(error_number) + ")");
  throw kernels::Error(kernels::Scope::rank, where + ": this process may lock " + locked_memory_allowed() +
                                                 " and needs " + mebibytes(bytes) + " more: " + kLockMore);
}

std::byte* allocate_pages(std::size_t bytes) {
  assert(bytes > 0 && bytes % kPage == 0);
  void* const pages = std::aligned_alloc(kPage, bytes);
  if (!pages) throw std::bad_alloc();
  std::memset(pages, 0, bytes);
  return static_cast<std::byte*>(pages);
}

ibv_mr* register_on(const Device& device, std::span<std::byte> memory, RegisteredMemory::Access access,
                    int dma_buf) {
  const int rights =
      access == RegisteredMemory::Access::local ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  if (dma_buf < 0) return ibv_reg_mr(device.protection_domain(), memory.data(), memory.size(), rights);
  return ibv_reg_dmabuf_mr(device.protection_domain(), 0, memory.size(),
                           reinterpret_cast<std::uint64_t>(memory.data()), dma_buf, rights);
}

}  // namespace

RegisteredMemory::RegisteredMemory(std::shared_ptr<Device> device, std::span<std::byte> memory, Access access,
                                   int dma_buf)
    : device_(std::move(device)), region_(register_on(*device_, memory, access, dma_buf)) {
  if (!region_) refuse(*device_, memory.size(), errno);
}

RegisteredMemory::~RegisteredMemory() { ibv_dereg_mr(region_); }

std::uint32_t RegisteredMemory::local_key() const { return region_->lkey; }
std::uint32_t RegisteredMemory::remote_key() const { return region_->rkey; }

RegisteredBuffer::RegisteredBuffer(std::shared_ptr<Device> device, std::size_t bytes,
                                   RegisteredMemory::Access access)
    : bytes_(bytes), pages_(allocate_pages(bytes)), registration_(std::move(device), memory(), access) {}

void RegisteredBuffer::Free::operator()(std::byte* pages) const { std::free(pages); }

struct MemoryTable::Entry {
  using OfDevice = std::map<std::pair<std::shared_ptr<Device>, RegisteredMemory::Access>,
                            std::shared_ptr<RegisteredMemory>>;
  std::span<std::byte> memory;
  FileDescriptor dma_buf;  // nothing: the host's
  OfDevice of_device;      // null: it cannot
  int uses = 0;

  /// With the key of one that has not been asked before; none on a device that has gone, which it would keep open.
  std::shared_ptr<RegisteredMemory> on(const std::shared_ptr<Device>& device,
                                       RegisteredMemory::Access access) {
    if (const auto known = of_device.find({device, access}); known != of_device.end()) return known->second;
    if (!device->is_listed()) return nullptr;
    std::shared_ptr<RegisteredMemory>& registered = of_device[{device, access}];
    try {
      registered = std::make_shared<RegisteredMemory>(device, memory, access, dma_buf.get());
    } catch (const kernels::Error&) {
      // It goes through the connections' own rings.
    }
    return registered;
  }
};

class MemoryTable::Registration final : public MemoryRegistration {
 public:
  Registration(MemoryTable& table, std::shared_ptr<Entry> entry) : table_(table), entry_(std::move(entry)) {}
  ~Registration() override { table_.remove(entry_); }

 private:
  MemoryTable& table_;
  std::shared_ptr<Entry> entry_;
};

MemoryTable::Use::~Use() {
  if (!entry_) return;  // moved from
  memory_.reset();      // first: who waits for the last use takes the memory away
  const std::lock_guard lock(table_->mutex_);
  if (--entry_->uses == 0) table_->released_.notify_all();
}

std::unique_ptr<MemoryRegistration> MemoryTable::add(std::span<std::byte> memory, int dma_buf) {
  if (memory.empty()) return nullptr;
  auto entry = std::make_shared<Entry>();
  entry->memory = memory;
  if (dma_buf >= 0) {
    entry->dma_buf = FileDescriptor(fcntl(dma_buf, F_DUPFD_CLOEXEC, 0));
    if (!entry->dma_buf) return nullptr;
  }
  const std::lock_guard lock(mutex_);
  entries_[memory.data()] = entry;
  return std::make_unique<Registration>(*this, std::move(entry));
}

std::optional<MemoryTable::Use> MemoryTable::find(const std::shared_ptr<Device>& device,
                                                  std::span<const std::byte> memory,
                                                  RegisteredMemory::Access access) {
  const std::lock_guard lock(mutex_);
  auto after = entries_.upper_bound(memory.data());
  if (memory.empty() || after == entries_.begin()) return std::nullopt;
  const std::shared_ptr<Entry>& entry = std::prev(after)->second;
  if (memory.data() + memory.size() > entry->memory.data() + entry->memory.size()) return std::nullopt;
  std::shared_ptr<RegisteredMemory> registered = entry->on(device, access);
  if (!registered) return std::nullopt;
  ++entry->uses;
  return Use(*this, entry, std::move(registered));
}

/// They are closed without the lock: a device that has gone may take its time.
void MemoryTable::let_go_of_lost_devices() {
  std::vector<Entry::OfDevice::node_type> lost;
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, entry] : entries_)
    for (auto next = entry->of_device.begin(); next != entry->of_device.end();)
      if (const auto each = next++; !each->first.first->is_listed())
        lost.push_back(entry->of_device.extract(each));
}

void MemoryTable::remove(const std::shared_ptr<Entry>& entry) {
  std::unique_lock lock(mutex_);
  if (const auto found = entries_.find(entry->memory.data());
      found != entries_.end() && found->second == entry)
    entries_.erase(found);
  released_.wait(lock, [&] { return entry->uses == 0; });
  entry->of_device.clear();
}

}  // namespace tenax::comm::verbs
