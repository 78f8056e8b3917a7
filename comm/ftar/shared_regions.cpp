#include "comm/ftar/shared_regions.hpp"

namespace tenax::comm {
namespace {

const std::byte* begin_of(const SharedMemory& area) { return static_cast<const std::byte*>(area.data()); }

}  // namespace

bool OwnRegions::share_over(PolledStream& stream) const {
  if (!stream.carries_descriptors()) return false;
  for (const auto& area : areas_) stream.send_descriptor(area->descriptor());
  return true;
}

std::optional<RegionPlace> OwnRegions::find(std::span<const std::byte> bytes) const {
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    const std::byte* const begin = begin_of(*areas_[i]);
    if (bytes.data() >= begin && bytes.data() + bytes.size() <= begin + areas_[i]->bytes())
      return RegionPlace{static_cast<std::int32_t>(i), static_cast<std::uint64_t>(bytes.data() - begin)};
  }
  return std::nullopt;
}

const std::byte* NeighbourRegions::at(const RegionPlace& place, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(place.region);
  while (place.region >= 0 && areas_.size() <= index) {
    FileDescriptor descriptor(stream_.receive_descriptor());
    if (!descriptor) break;
    areas_.push_back(SharedMemory::map(std::move(descriptor), where_));
  }
  if (place.region < 0 || index >= areas_.size() || place.offset > areas_[index]->bytes() ||
      bytes > areas_[index]->bytes() - place.offset)
    throw_link_error(where_, "named memory that it has not shared");
  return begin_of(*areas_[index]) + place.offset;
}

}  // namespace tenax::comm
