// EarlierSends: sends of iterations that have ended, whose memory may still be read.
#pragma once

#include <vector>

#include "comm/failover/failover_exchange.hpp"

namespace tenax::comm {

/// Thread rule: one thread.
class EarlierSends {
 public:
  /// `pool` must outlive it.
  explicit EarlierSends(RetransmitPool& pool) : pool_(pool) {}

  /// The peer has acknowledged all of them. Retransmit buffers that nobody reads go back to the
  /// pool.
  void add(const FailoverMessages& sent);
  /// Whether cancelled sends may still run on the direct path.
  bool use_direct_path() const { return !cancelled_.empty(); }
  /// Returns when nothing reads the tensors of delegated sends any more. Throws Error(link) on
  /// expiry.
  void wait(double deadline_s);
  /// Destroys the transfers, which waits for those that read memory.
  void clear();

 private:
  void drop_cancelled();

  RetransmitPool& pool_;
  FailoverMessages cancelled_;          // on the direct path, with the bytes that they read
  std::vector<TransferPtr> delegated_;  // not yet acknowledged over a delegate's connection
};

}  // namespace tenax::comm
