// Collectives of the emulated device: no data, but the messages of a ring, so that they take the time that
// the links of the ring take, the slowest deciding.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace tenax::comm {

/// Over the links of `endpoint` to the ranks before and after (one link in a group of two). A reduce-scatter
/// and an all-gather are size − 1 steps each, an all-reduce both; a step sends ⌈elements / size⌉ elements to
/// the rank after and waits for as many from the rank before. The first step of a collective begins with its
/// call, the others when done(), wait() or order_before() finds that the one before has ended; wait() sleeps
/// in between. An all_reduce blocks the host. Give the endpoint a queue that does not block
/// (DirectOptions::depth): several collectives may be under way. `device` must outlive the communicator.
/// Tensors have no data (asserted).
std::unique_ptr<Communicator> create_emulated_ring_communicator(std::string name,
                                                                std::unique_ptr<Endpoint> endpoint,
                                                                kernels::Device& device, CommOptions options);

}  // namespace tenax::comm
