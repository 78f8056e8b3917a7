// Communicator: collectives on tensors within a group of ranks (tensor, data, pipeline or embedding
// group), ordered with a stream. A group of size one is a communicator like any other, whose
// operations do nothing.
//
// Every rank of the group makes the same calls in the same order. Results are the same bits on
// every rank, and the order of summation is fixed by rank: same group size, same inputs, same bits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/control_group.hpp"
#include "comm/link.hpp"
#include "comm/transfer.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

enum class ReduceOp { sum, max };

/// Which ranks of a group exchange messages in its collectives, over links of ours.
enum class LinkTopology {
  /// None: memory that they share, or a library that keeps its links to itself. NCCL chooses rings
  /// and trees of its own, several at a time, and neither tells which nor lends them.
  none,
  ring,      ///< each with the ranks before and after it
  all_pairs  ///< each with every other one
};

/// A ring in another order, built beside the one in force. Where it goes without adopt(), that one stays.
class RingChange {
 public:
  virtual ~RingChange() = default;
  virtual void adopt() = 0;  ///< collective; takes the place of the ring in force, which goes
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  ///< "tensor", "data", … for error messages

  /// In place. bf16 sums are formed in fp32 and rounded once. Later operations of `stream` see the
  /// result. Here and below `stream` must outlive what is under way.
  virtual void all_reduce(kernels::Stream& stream, const kernels::Tensor& tensor, ReduceOp op) = 0;

  /// tensor (n elements, n divisible by size()): afterwards its rank()-th piece of n/size()
  /// elements holds the sum over all ranks of that piece; the other pieces are unspecified.
  virtual TransferPtr start_reduce_scatter(kernels::Stream& stream, const kernels::Tensor& tensor) = 0;
  /// The reverse: every rank contributes its rank()-th piece in place and receives all others.
  virtual TransferPtr start_all_gather(kernels::Stream& stream, const kernels::Tensor& tensor) = 0;

  /// Throws what went wrong with operations that the device waited for itself (NCCL): to be asked
  /// once the streams ordered after them have been waited for, before anything they computed is
  /// used.
  virtual void check() {}

  /// The ranks of the group as they stand round the ring that its collectives go: each sends to the
  /// next one, the last to the first. At the beginning 0, 1, 2, … Empty where there is no ring whose
  /// order can be changed.
  virtual std::vector<int> ring_order() const { return {}; }
  /// Builds the ring in another order, a permutation of all ranks. Pieces, and whom they belong to,
  /// stay. Collective, the same order on every rank, while no collective of the group is under way
  /// on any of them: this rank has waited for all that it started. Either all ranks adopt it before the next
  /// collective, or all let go of it: some may have failed. Null where there is no such ring. Throws Error(link) when
  /// a rank does not come in time. This outlives the change.
  virtual std::unique_ptr<RingChange> prepare_ring(const std::vector<int>& order) {
    static_cast<void>(order);
    return nullptr;
  }

  virtual LinkTopology topology() const { return LinkTopology::none; }
  /// The link to `peer` over which collectives go, or went in an earlier order of the ring, lent
  /// while none is under way in the group; it takes tensors in host memory, and on the emulated
  /// device ones without data. Null where there was never one between the two.
  virtual Link* link(int peer) {
    static_cast<void>(peer);
    return nullptr;
  }
};

/// What the waits inside a communicator obey.
struct CommOptions {
  double deadline_s = 60;
};

/// Collectives over the links of `endpoint`. `device` gives staging memory and sums, and must
/// outlive the communicator. Throws Error(operation) for a device whose memory the host cannot read
/// (a group of one excepted: it moves nothing).
std::unique_ptr<Communicator> create_link_communicator(std::string name, std::unique_ptr<Endpoint> endpoint,
                                                       kernels::Device& device, CommOptions options);

/// The control plane of the ranks of `endpoint`.
std::unique_ptr<ControlGroup> create_control_group(std::unique_ptr<Endpoint> endpoint, CommOptions options);

}  // namespace tenax::comm
