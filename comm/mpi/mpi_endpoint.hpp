// Endpoint over an MPI communicator of its own: messages of different groups, and of different
// generations of a group, cannot meet.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "comm/link.hpp"

namespace tenax::comm {

/// A longer message travels as several of this size: MPI counts are ints.
inline constexpr std::size_t kMaxMpiMessageBytes = std::size_t{1} << 30;

/// Takes over `communicator` (freed at the end, unless an error unwinds the stack: peers may then
/// be gone). `names`: "rank 2 (hostB)" of each member. `deadline_s` bounds the wait for a device's
/// stream before a send. Tests pass a small `max_message_bytes`.
std::unique_ptr<Endpoint> create_mpi_endpoint(MPI_Comm communicator, std::vector<std::string> names,
                                              double deadline_s,
                                              std::size_t max_message_bytes = kMaxMpiMessageBytes);

/// Collective, once all ranks of `communicator` have met: the same answer on every rank, within
/// milliseconds where messages do pass and half a minute where they do not. Throws Error(job) if a
/// rank does not answer for `deadline_s`.
bool messages_overtake(MPI_Comm communicator, double deadline_s);

}  // namespace tenax::comm
