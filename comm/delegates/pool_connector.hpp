// PoolConnector: the thread that opens a link's SharedBufferPool, where both ends are on one host.
#pragma once

#include <thread>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/delegates/reconnector.hpp"

namespace tenax::comm {

/// Runs from construction to destruction. It makes a shared-memory connection to the peer for its
/// area alone. The pool stays closed where the peer has no such address, or none answers within the
/// deadline.
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
