// SharedRegions: memory of a rank that the rank after it in the ring reads without a copy, where
// both are processes of one host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/polled_stream.hpp"
#include "comm/transport/shared_memory.hpp"

namespace tenax::comm {

/// Names a place in one of a rank's areas.
struct RegionPlace {
  std::int32_t region = 0;
  std::uint64_t offset = 0;
};

/// This rank's own areas.
class OwnRegions {
 public:
  explicit OwnRegions(std::vector<std::shared_ptr<const SharedMemory>> areas) : areas_(std::move(areas)) {}
  /// Sends all areas to the other end, if it is on this host: true then.
  bool share_over(PolledStream& stream) const;
  /// Nothing if these bytes are not in one of the areas.
  std::optional<RegionPlace> find(std::span<const std::byte> bytes) const;

 private:
  std::vector<std::shared_ptr<const SharedMemory>> areas_;
};

/// The areas of the rank before. They are mapped as they come.
class NeighbourRegions {
 public:
  /// `stream` brings them. `where`: for errors.
  NeighbourRegions(PolledStream& stream, std::string where) : stream_(stream), where_(std::move(where)) {}
  /// Throws Error(link) for a place that is not in any area that was sent.
  const std::byte* at(const RegionPlace& place, std::size_t bytes);

 private:
  PolledStream& stream_;
  std::string where_;
  std::vector<std::shared_ptr<const SharedMemory>> areas_;
};

}  // namespace tenax::comm
