// FtarControl: what a group's worker, the threads that wait for it and its transfers share.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/ftar/bucket_exchange.hpp"
#include "comm/ftar/link_transfers.hpp"
#include "comm/signal.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// Lives as long as the last of them. Thread rule: any thread.
class FtarControl {
 public:
  FtarControl();

  /// For the worker; fails at once if the group is broken.
  void add(std::unique_ptr<BucketExchange> bucket);
  /// Returns when the worker has broken the group: nothing writes a bucket any more, and no
  /// neighbour reads one.
  void abort();
  /// Sleeps until the outcome is over; false if the deadline came first.
  bool wait(const Outcome& outcome, kernels::Deadline deadline);
  /// abort() without the wait.
  void ask_for_end();
  /// What buckets took since it was asked last, on the way to the rank after.
  LinkTransfers take_transfers();

  // The worker's:
  bool is_end_asked() const { return is_end_asked_.load(); }
  /// The next one added; null: there is none.
  std::unique_ptr<BucketExchange> take();
  void add(const LinkTransfers& transfers);
  /// An outcome is over.
  void notify() { signal_.notify(); }
  /// All that is added or not taken yet fails, as cancelled unless it is the first to fail.
  void break_off(FtarFailure failure, bool is_first);
  /// Readable when there is something new; answer_wake() ends that.
  int wake_descriptor() const { return wake_.get(); }
  void answer_wake();

 private:
  void wake();

  FileDescriptor wake_;
  Signal signal_;
  std::atomic<bool> is_end_asked_{false}, is_broken_{false};
  std::mutex mutex_;
  std::deque<std::unique_ptr<BucketExchange>> added_;
  std::optional<FtarFailure> failure_;
  LinkTransfers transfers_;
};

}  // namespace tenax::comm
