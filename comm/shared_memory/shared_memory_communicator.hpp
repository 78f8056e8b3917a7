// Collectives of ranks on one host, in memory that all of them see. Several times faster than MPI's
// for the megabytes that tensor parallelism sums in every block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

class SharedSegment {
 public:
  virtual ~SharedSegment() = default;
  virtual std::byte* data() const = 0;  ///< aligned to 4096 bytes; zero at first
  virtual std::size_t bytes() const = 0;
};

/// Collective over the endpoint: a new segment, or null on every rank when they cannot all map one
/// (they are on different hosts or in different containers, or the host has too little shared
/// memory). The operating system frees it with the last rank, however that ends.
std::unique_ptr<SharedSegment> share_segment(Endpoint& endpoint, std::size_t bytes, double deadline_s);

/// Over a segment of ChunkWindow::bytes(names.size()), which all ranks of the group have mapped.
/// `names`: "rank 2 (hostB)" of each. Tensors are in host memory. `meanwhile` is called now and
/// then while an operation waits for other ranks: for messages of other groups that get on only
/// when asked, and that those ranks may wait for (MPI's).
std::unique_ptr<Communicator> create_shared_memory_communicator(std::string name,
                                                                std::shared_ptr<SharedSegment> segment,
                                                                int rank, std::vector<std::string> names,
                                                                CommOptions options,
                                                                std::function<void()> meanwhile = {});

/// Collective over the endpoint, which is needed only during the call. Null on every rank if the
/// group's ranks cannot share memory.
std::unique_ptr<Communicator> try_create_shared_memory_communicator(const std::string& name,
                                                                    Endpoint& endpoint, CommOptions options,
                                                                    std::function<void()> meanwhile = {});

}  // namespace tenax::comm
