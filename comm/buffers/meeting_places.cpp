#include "comm/buffers/meeting_places.hpp"

#include <cassert>
#include <new>

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kPage = SharedMemoryArea::kPage;
constexpr std::size_t kTable = (sizeof(PlaceLedger::Memory) + kPage - 1) / kPage * kPage;
constexpr std::size_t kLeast = kPage;  // less is copied faster than agreed on

/// Pages of a place as a slot's buffer.
class PlaceBuffer final : public kernels::Buffer {
 public:
  PlaceBuffer(std::shared_ptr<std::byte> memory, std::size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  void* data() const override { return memory_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_;
};

}  // namespace

/// The table is zeros at first, which is what its atomics begin with.
MeetingPlaces::Opened::Opened(kernels::Device& device, int end, const std::shared_ptr<SharedMemoryArea>& area,
                              std::shared_ptr<std::byte> its_table)
    : table(std::move(its_table)),
      ledger(*std::launder(reinterpret_cast<PlaceLedger::Memory*>(table.get())), end),
      store(device, area, kTable, ledger) {}

void MeetingPlaces::open(std::shared_ptr<SharedMemoryArea> area) {
  assert(!owner_ && end_ == (area->end() == ConnectionEnd::connecting ? 0 : 1));
  std::shared_ptr<std::byte> table = area->reserve(0, kTable) ? area->map(0, kTable) : nullptr;
  if (!table) throw kernels::Error(kernels::Scope::link, "no memory for the places of messages");
  owner_ = std::make_unique<Opened>(device_, end_, area, std::move(table));
  opened_.store(owner_.get(), std::memory_order_release);
  owner_->ledger.open();  // last: from now on the peer may send what lies in a place
}

HostStaging::Slot MeetingPlaces::meet(const MessageKey& key, std::size_t bytes) {
  Opened* const open = opened();
  if (!open || bytes < kLeast || !open->ledger.is_open_at_both_ends()) return {};
  if (const auto theirs = open->ledger.named_by_peer(key)) return adopt(*open, key, *theirs, bytes);
  collect(*open);
  const auto own = open->store.take(bytes);
  if (!own) return {};
  if (open->ledger.offer(key, *own)) return slot_at(*open, key, *own);
  open->store.give_back(*own);
  const auto theirs = open->ledger.named_by_peer(key);
  return theirs ? adopt(*open, key, *theirs, bytes) : HostStaging::Slot{};
}

/// A place of another size belongs to a mistake, which the receiver reports.
HostStaging::Slot MeetingPlaces::adopt(Opened& open, const MessageKey& key, PlaceId place,
                                       std::size_t bytes) {
  if (!open.store.reach(place) || open.store.bytes(place) < bytes) return {};
  return open.ledger.accept(key, place) ? slot_at(open, key, place) : HostStaging::Slot{};
}

HostStaging::Slot MeetingPlaces::slot_at(Opened& open, const MessageKey& key, PlaceId place) {
  PlaceLedger::Row& row = open.ledger.row(place);
  if (key.sender == end_) row.filled.store(0);
  HostStaging::Slot slot;
  slot.buffer = std::make_unique<PlaceBuffer>(open.store.map(place), open.store.bytes(place));
  slot.place = place.code();
  return slot;
}

void MeetingPlaces::leave_sent(const MessageKey& key, PlaceId place) {
  if (place.end != end_) return;
  Opened& open = *opened();
  if (open.ledger.withdraw(key, place) || open.ledger.has_ended(key, place))
    return open.store.give_back(place);
  const std::lock_guard lock(mutex_);
  left_.push_back({key, place});
}

void MeetingPlaces::leave_received(const MessageKey& key, PlaceId place, bool has_arrived) {
  Opened& open = *opened();
  const bool is_own = place.end == end_, is_free = is_own && open.ledger.withdraw(key, place);
  if (!is_free && has_arrived) open.ledger.end(key, place);
  if (is_own && (is_free || has_arrived)) open.store.give_back(place);
}

void MeetingPlaces::keep(const MessageKey& key, PlaceId place) {
  if (place.end != end_ && !opened()->ledger.accept(key, place))
    throw kernels::Error(kernels::Scope::link,
                         "the peer sent a message in a place that it does not offer for it");
}

std::shared_ptr<std::byte> MeetingPlaces::memory(PlaceId place, std::size_t bytes) {
  PlaceStore& store = opened()->store;
  std::shared_ptr<std::byte> memory = store.map(place);
  if (!memory)
    throw kernels::Error(kernels::Scope::link,
                         "cannot map memory shared with the peer; use comm.transport = \"tcp\"");
  if (store.bytes(place) < bytes)
    throw kernels::Error(kernels::Scope::link, "the peer sent a message in a place that is smaller");
  return memory;
}

void MeetingPlaces::collect(Opened& open) {
  const std::lock_guard lock(mutex_);
  std::erase_if(left_, [&](const Left& left) {
    const bool is_free = open.ledger.has_ended(left.key, left.place);
    if (is_free) open.store.give_back(left.place);
    return is_free;
  });
}

void MeetingPlaces::fill(PlaceId place, std::size_t bytes) {
  PlaceLedger::Row& row = opened()->ledger.row(place);
  row.filled.store(bytes);
  row.filling.notify();
}

FutexEvent::Outcome MeetingPlaces::await(PlaceId place, std::size_t bytes,
                                         const std::function<bool()>& is_over, kernels::Deadline deadline) {
  PlaceLedger::Row& row = opened()->ledger.row(place);
  return row.filling.wait([&] { return row.filled.load() >= bytes; }, is_over, deadline);
}

}  // namespace tenax::comm
