// NcclGroup: an NCCL communicator whose every wait has a deadline, and the stream its work runs on.
#pragma once

#include <nccl.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/failure.hpp"
#include "comm/nccl.hpp"
#include "comm/nccl/nccl_library.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

/// Who is in a group, and for its errors "in the data group", "rank 2 (hostB)" of each.
struct NcclMembers {
  std::string purpose;
  int rank = 0;
  std::vector<std::string> names;
  /// The ranks in the order in which NCCL numbers them; empty: in their own.
  std::vector<int> order = {};

  int size() const { return static_cast<int>(names.size()); }
  int nccl_rank(int of) const;
  const std::string& me() const { return names[static_cast<std::size_t>(rank)]; }
  std::string others() const;
};

/// Work that was enqueued.
struct NcclOperation {
  std::string what;                                 ///< "all_reduce of 400000 bytes"
  std::unique_ptr<kernels::Event> ready, finished;  ///< its turn on the device has come; it has run
  Stopwatch stopwatch;
  Stopwatch
      unasked;  ///< since its turn, or since its rank last asked for it; under the group's mutex, as the next
  bool begun = false, done = false;
};
using NcclOperationPtr = std::shared_ptr<NcclOperation>;

/// A new id, as text that may hold any byte; `where` is for an error.
std::string new_nccl_id(const std::string& where);

/// Thread rule: one thread at a time, beside the group's own, which watches: it aborts the
/// communicator when NCCL reports an error, or when for options.deadline_s an operation whose turn
/// has come is neither finished nor asked for. (A receive may stand for as long as a schedule
/// lasts; who asks for it knows when it is late, and waits for it. What stands behind passes that
/// take long is not late.)
class NcclGroup {
 public:
  /// Joins the other ranks; all call it at the same time. `max_blocks`: the most multiprocessors
  /// that its kernels may hold, which the device then lends it; 0: as many as NCCL likes. Throws Error(link) on expiry.
  NcclGroup(NcclMembers members, const std::string& id, kernels::Device& device, NcclOptions options,
            int max_blocks = 0);
  /// In order with the other ranks, if they come; when an error unwinds the stack, or something
  /// failed, at once.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  const NcclMembers& members() const { return members_; }
  kernels::Stream& stream() { return *stream_; }

  /// `enqueue` puts work on stream(), by call() and kernels; it runs once `after` has passed what
  /// is enqueued there now.
  NcclOperationPtr start(kernels::Stream& after, std::string what, const std::function<void()>& enqueue);
  /// Only from `enqueue`: NCCL's calls, as one group. They return the first result that is_fault,
  /// if any.
  using Calls = std::function<ncclResult_t(ncclComm_t, cudaStream_t)>;
  void call(const Calls& calls);

  /// Throws what broke the group, unless the operation was seen done before that.
  bool done(NcclOperation& operation);
  void wait(NcclOperation& operation, kernels::Deadline deadline);
  /// Throws what broke the group.
  void check();
  /// Ends all work of the group, on the device too, which takes a while yet when this returns.
  void abort(const NcclOperation& operation, const std::string& reason) noexcept;

 private:
  void join(const std::string& id);
  ncclResult_t settle(ncclResult_t result, double deadline_s);
  void watch();
  void look();
  bool is_late(NcclOperation& operation) const;
  void fail(const Failure& failure);
  std::string late(const NcclOperation& operation) const;
  void close() noexcept;

  const NcclMembers members_;
  kernels::Device& device_;
  const NcclOptions options_;
  const int max_blocks_;
  std::unique_ptr<kernels::Stream> stream_;
  std::optional<CommAbort> abort_;
  ncclComm_t nccl_ = nullptr;  // null once it is being aborted
  std::string operation_;      // being enqueued

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<NcclOperationPtr> under_way_;
  std::optional<Failure> failure_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace tenax::comm
