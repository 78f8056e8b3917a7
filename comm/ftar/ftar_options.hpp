// FtarOptions: how replicas exchange their sums.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/ftar/chunk_arithmetic.hpp"
#include "comm/transport/shared_memory.hpp"

namespace tenax::comm {

/// The first four must be equal on all replicas: they decide in which order values are added.
struct FtarOptions {
  std::size_t chunk_bytes = std::size_t{512} << 10;  ///< S
  int chunks_in_flight = 4;                          ///< C, of S bytes each, to the rank after
  int connections = 1;                               ///< to each neighbour
  WireType wire = WireType::fp32;
  double deadline_s = 60;  ///< for connecting, and until something moves
  /// As the latter, between neighbours that tell each other that they live: one may enter late, compute for as long, or write a
  /// checkpoint, before it begins with what is awaited of it. No less than deadline_s.
  double longest_s = 0;
  /// Neighbours tell each other so often that they live; who has not been heard of for dead_s while
  /// it is needed is given up: its host is gone, or the link to it. 0: only deadline_s counts.
  double alive_s = 0, dead_s = 0;
  /// Memory that neighbours on this host may read: buckets in it are exchanged without copies.
  std::vector<std::shared_ptr<const SharedMemory>> memory;
  /// Epochs up to this one are frozen: their exchanges end within 10 ms. Null: none is ever. It must
  /// outlive the group.
  const std::atomic<std::int64_t>* frozen_epoch = nullptr;
  double link_gbps = 0;  ///< emulated device: bandwidth to the rank after; 0: no limit
};

}  // namespace tenax::comm
