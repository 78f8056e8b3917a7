// Communicator for ranks on one host: hand-written collectives in shared memory. Several times faster than
// MPI's for the megabytes that tensor parallelism sums in every block.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shared_memory/segment.hpp"

namespace tenax::comm {

/// Over a segment of ChunkWindow::bytes(names.size()), which all ranks of the group have mapped. `names`:
/// "rank 2 (hostB)" of each. Tensors are in host memory. `meanwhile` is called now and then while an operation waits for
/// other ranks: for messages of other groups that get on only when asked, and that those ranks may wait for (MPI's).
std::unique_ptr<Communicator> create_shared_memory_communicator(std::string name,
                                                                std::shared_ptr<SharedSegment> segment,
                                                                int rank, std::vector<std::string> names,
                                                                CommOptions options,
                                                                std::function<void()> meanwhile = {});

/// Collective over the endpoint, which is needed only during the call. Null on every rank if the group's
/// ranks cannot share memory.
std::unique_ptr<Communicator> try_create_shared_memory_communicator(const std::string& name,
                                                                    Endpoint& endpoint, CommOptions options,
                                                                    std::function<void()> meanwhile = {});

}  // namespace tenax::comm
