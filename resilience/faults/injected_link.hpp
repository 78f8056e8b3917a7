// InjectedLink: a direct link between two ranks that is as slow, or as dead, as LinkFaults say. It
// is for links that only polling moves on (MPI) and needs no thread.
#pragma once

#include <string>

#include "comm/link.hpp"
#include "resilience/faults/link_faults.hpp"

namespace tenax::resilience {

/// A message arrives at both ends, and the sender's transfer is done, when its delay is over; one
/// message at a time, in the order of their sends: a later one's delay begins when the earlier one
/// has arrived.
///
/// While the link is down its transfers throw Error(link), those under way included: such a message
/// is lost, at both ends or at one alone. Then the ends no longer agree on what is under way: the
/// link stays unusable, and a new endpoint must be made, as with any broken connection.
class InjectedLink final : public comm::Link {
 public:
  /// World ranks of this end and the other, and whether the link can go down (pipelines) or is only
  /// slow (collectives).
  struct Ends {
    int rank = 0, peer = 0;
    bool goes_down = false;
  };

  /// `inner` and `faults` must outlive the link and its transfers. The other end's link must be
  /// wrapped too.
  InjectedLink(comm::Link& inner, Ends ends, LinkFaults& faults)
      : inner_(inner), ends_(ends), faults_(faults) {}

  comm::TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override;
  comm::TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override;
  std::string describe() const override { return inner_.describe(); }

  // For its transfers:
  bool is_down() const;
  void count(LinkFaults::Passed how);
  void mark_broken() { is_broken_ = true; }

 private:
  comm::Link& inner_;
  const Ends ends_;
  LinkFaults& faults_;
  bool is_broken_ = false;
  LinkFaults::Clock::time_point free_at_{};  ///< when the last message that was sent has arrived
};

}  // namespace tenax::resilience
