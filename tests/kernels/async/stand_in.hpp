// A stand-in for a GPU: the CPU's operations behind CUDA's rules, so that machines without one check everything of an
// asynchronous device but the kernels themselves: the order of streams, staging, failures.
//
// - A call only enqueues. Each stream is a thread that runs what it was given in order, a random moment later.
// - Device memory has addresses at which the host finds nothing: touching it is a segmentation fault.
// - Of the host's memory it reaches only what is pinned or registered; operations on other memory throw.
// - What only streams and events put in order is not put in order by accident: a host thread learns nothing from a stream
//   but through events, flags and synchronize(), so the thread sanitizer sees what is missing.
// - Memory that is let go of stays what it was until all streams have passed what they were given before.
// - A stream that waits for two minutes ends the process.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "kernels/device.hpp"
#include "tests/kernels/async/products_met.hpp"

namespace tenax::kernels::test {

/// Memory of a stand-in, bytes: what owners hold, and what they have let go of but streams may still use; and how many
/// multiprocessors are lent. Thread rule: any.
struct StandInUse {
  std::atomic<int> lent = 0;
  std::atomic<std::size_t> device = 0, pinned = 0;
  std::size_t all() const { return device + pinned; }
};

struct StandInOptions {
  int jitter_us = 0;  ///< one op in eight starts up to this much later
  std::uint64_t seed = 1;
  std::size_t memory_bytes = 0;     ///< what the device says to have; 0 = the host's
  std::size_t scratch_bytes = 0;    ///< what a product takes of its stream's scratch memory
  bool registers = true;            ///< whether register_host() works
  bool exports = false;             ///< whether export_memory() works
  StandInUse* use = nullptr;        ///< where memory is counted; outlives the device
  ProductsMet* products = nullptr;  ///< to which products are added as they are enqueued; outlives it
  std::optional<DeviceReading> reading = {};  ///< what it tells of itself
};

/// kind() is cuda; all its ranks say to share one GPU.
std::unique_ptr<Device> create_stand_in(const StandInOptions& options = {});

}  // namespace tenax::kernels::test
