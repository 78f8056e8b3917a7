// FtarGroup: the fault-tolerant all-reduce between replicas (FT-HSDP, section 4.2), for one epoch.
//
// Each rank of a replica has a group with the ranks of its number in the others. Their sums go round
// a ring over connections that can be cut and made anew, so that survivors of a replica's death make
// another group and repeat what was not finished. comm/README.md draws the protocol.
#pragma once

#include <memory>

#include "comm/ftar/ftar_control.hpp"
#include "comm/ftar/ftar_error.hpp"
#include "comm/ftar/ftar_options.hpp"
#include "comm/ftar/ring_connector.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {

class FtarWorker;

/// What one exchange adds up.
struct FtarBucket {
  /// The same on all replicas, which may start buckets in different orders; used once in an epoch.
  BucketName name;
  /// This replica's values, host memory, f32 or f64; final when it is started. Nothing ever writes
  /// them here.
  kernels::Tensor in;
  /// For the sum over all replicas; as large as `in`, not overlapping it. It holds nothing useful
  /// until the transfer is done, nor after it failed.
  kernels::Tensor out;
};

/// The sums have the same bits on all replicas. They are formed in an order that ring, sizes and
/// options fix (RingPlan); of two replicas, it is a sum of two. With WireType::bf16, fp32 values are
/// rounded on the wire, added in fp32, and the result is rounded.
///
/// Errors are FtarErrors (ftar_error.hpp), from the transfers' waits: once one bucket fails, the
/// group is broken, and all that is under way or started later fails as cancelled. `in` is intact,
/// to be exchanged in the next epoch.
///
/// Thread rule: any thread; a transfer is used by one.
class FtarGroup {
 public:
  /// Returns at once: a thread of its own connects the neighbours, and moves the buckets. Both must
  /// outlive the group, and `options.frozen_epoch` too. `device` holds the buckets; one without data
  /// (the emulated one) exchanges none, but takes the time. A bucket may lie in pinned host memory
  /// too.
  FtarGroup(FtarRing ring, Transport& transport, kernels::Device& device, FtarOptions options);
  /// Aborts what is under way. Where a neighbour stopped while it was being connected, it waits for
  /// that attempt to end.
  ~FtarGroup();
  FtarGroup(const FtarGroup&) = delete;
  FtarGroup& operator=(const FtarGroup&) = delete;

  /// What buckets took since it was asked last, on the way to the rank after; it counts those that
  /// are done.
  LinkTransfers take_transfers() { return control_->take_transfers(); }

  int size() const { return size_; }
  int index() const { return shape_.index; }
  /// Begins to exchange a bucket. Its tensors must outlive the transfer. Where the transfer is
  /// destroyed or cancelled before it is done, the group is aborted: a ring cannot leave one out.
  TransferPtr start(const FtarBucket& bucket);
  /// Begins to gather a few numbers of each replica: N equal parts, host memory, f64, of which the
  /// one at this replica's index is final, and the others come (GatherPlan). Else as
  /// start().
  TransferPtr start_gather(const BucketName& name, const kernels::Tensor& parts);
  /// All that is under way fails within 10 ms; on return nothing writes or reads a bucket any more,
  /// here or on a neighbour.
  void abort();

 private:
  TransferPtr start(const FtarBucket& bucket, std::unique_ptr<const ExchangePlan> plan);

  const int size_;
  const RingShape shape_;
  const std::unique_ptr<ChunkArithmetic> arithmetic_;  // of a ring of one
  const std::shared_ptr<FtarControl> control_;
  std::unique_ptr<FtarWorker> worker_;  // none in a ring of one
};

}  // namespace tenax::comm
