// PoolConnector: the thread that gets a link's ends memory that both see, where they can.
#pragma once

#include <thread>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/delegates/reconnector.hpp"

namespace tenax::comm {

/// From construction to destruction. It makes a connection to the peer in shared memory, for that memory alone. Where the peer
/// has no such address, or none that answers within the deadline, the buffers stay closed.
class PoolConnector {
 public:
  /// `shared_buffers` must outlive it.
  PoolConnector(const LinkParties& parties, SharedBufferPool& shared_buffers);
  ~PoolConnector();
  PoolConnector(const PoolConnector&) = delete;
  PoolConnector& operator=(const PoolConnector&) = delete;

 private:
  void run();

  const LinkParties parties_;
  SharedBufferPool& shared_buffers_;
  Reconnector reconnector_;
  std::thread thread_;
};

}  // namespace tenax::comm
