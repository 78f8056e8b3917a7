// Memory that RDMA adapters may read and write, before anything is registered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/device.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::io {
struct Deck;
}

namespace tenax::app {

/// Bytes that the rank with most neighbours registers: the rings of its delegates' connections and of
/// those with other replicas, and where the host cannot read the device's memory the buffers that
/// messages are sent from. With
/// comm.transport = "auto" as if all connections went over RDMA; 0 where none may.
std::int64_t registered_bytes(const io::Deck& deck, const parallel::Layout& layout,
                              const kernels::Device& device);

/// What adapters lock for that: registered_bytes(), and the connections' queues.
std::int64_t locked_bytes(const io::Deck& deck, const parallel::Layout& layout,
                          const kernels::Device& device);

/// Why a process cannot lock so many bytes, and the cure; empty where it can. `allowed`:
/// comm::locked_memory_bytes().
std::string locked_memory_obstacle(std::int64_t locked_bytes, std::optional<std::int64_t> allowed);

}  // namespace tenax::app
