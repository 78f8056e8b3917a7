#include "comm/verbs/frame.hpp"

#include <algorithm>

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kBytesOfPage = 4096, kLeastRing = std::size_t{64} << 10,
                      kMostRing = std::size_t{64} << 20;

}  // namespace

int RingSize::frames() const {
  return static_cast<int>(std::clamp<std::size_t>(bytes / kBytesOfPage, 64, 2048));
}

bool RingSize::is_possible(std::uint64_t bytes) {
  return bytes >= kLeastRing && bytes <= kMostRing && bytes % kBytesOfPage == 0;
}

}  // namespace tenax::comm::verbs
