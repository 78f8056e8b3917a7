#include "comm/buffers/place_store.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kPage = SharedMemoryArea::kPage;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

bool are_pages_within(std::size_t offset, std::size_t bytes, std::size_t begin, std::size_t end) {
  return offset % kPage == 0 && bytes > 0 && offset >= begin && offset <= end && bytes <= end - offset;
}

}  // namespace

PlaceStore::PlaceStore(kernels::Device& device, std::shared_ptr<SharedMemoryArea> area, std::size_t begin,
                       PlaceLedger& ledger)
    : device_(device),
      area_(std::move(area)),
      ledger_(ledger),
      begin_(begin),
      half_((SharedMemoryArea::kBytes - begin) / 2 / kPage * kPage),
      next_offset_(begin + static_cast<std::size_t>(ledger.this_end()) * half_),
      end_offset_(next_offset_ + half_) {}

std::optional<PlaceId> PlaceStore::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto size = [&](std::size_t index) { return made_[index]; };
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (size(*it) >= bytes && (best == free_.end() || size(*it) < size(*best))) best = it;
    if (best != free_.end()) {
      const PlaceId place{ledger_.this_end(), *best};
      free_.erase(best);
      return place;
    }
  }
  return make(whole_pages(bytes));
}

std::optional<PlaceId> PlaceStore::make(std::size_t bytes) {
  if (is_full_ || made_.size() == PlaceId::kPlaces || bytes > end_offset_ - next_offset_) return std::nullopt;
  const PlaceId place{ledger_.this_end(), made_.size()};
  PlaceLedger::Row& row = ledger_.row(place);
  row.offset.store(next_offset_);
  row.bytes.store(bytes);
  if (!area_->reserve(next_offset_, bytes) || !reach(place)) {
    is_full_ = true;
    return std::nullopt;
  }
  made_.push_back(bytes);
  next_offset_ += bytes;
  return place;
}

void PlaceStore::give_back(PlaceId place) {
  const std::lock_guard lock(mutex_);
  free_.push_back(place.index);
}

std::shared_ptr<std::byte> PlaceStore::map(PlaceId place) {
  const std::lock_guard lock(mutex_);
  Reached& reached = reached_[place.code()];
  if (reached.memory) return reached.memory;
  const PlaceLedger::Row& row = ledger_.row(place);
  const std::size_t offset = row.offset.load(), bytes = row.bytes.load();
  const std::size_t first = begin_ + static_cast<std::size_t>(place.end) * half_;
  if (!are_pages_within(offset, bytes, first, first + half_)) return nullptr;
  reached.memory = area_->map(offset, bytes);
  reached.bytes = bytes;
  return reached.memory;
}

std::size_t PlaceStore::bytes(PlaceId place) {
  const std::lock_guard lock(mutex_);
  return reached_.at(place.code()).bytes;
}

std::shared_ptr<std::byte> PlaceStore::reach(PlaceId place) {
  const std::shared_ptr<std::byte> memory = map(place);
  if (!memory) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (reached_[place.code()].registration) return memory;
  }
  auto registration = device_.register_host(memory, bytes(place));
  if (!registration) return nullptr;
  const std::lock_guard lock(mutex_);
  reached_[place.code()].registration = std::move(registration);
  return memory;
}

}  // namespace tenax::comm
