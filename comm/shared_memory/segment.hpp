// SharedSegment: memory that all ranks of a group on one host see.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/link.hpp"

namespace tenax::comm {

class SharedSegment {
 public:
  virtual ~SharedSegment() = default;
  virtual std::byte* data() const = 0;  ///< aligned to 4096 bytes; zero at first
  virtual std::size_t bytes() const = 0;
};

/// Collective over the endpoint: a new segment, or null on every rank when they cannot all map one (they are
/// on different hosts or in different containers, or the host has too little shared memory). The operating
/// system frees it with the last rank, however that ends.
std::unique_ptr<SharedSegment> share_segment(Endpoint& endpoint, std::size_t bytes, double deadline_s);

}  // namespace tenax::comm
