// Delegated point-to-point: the CPU side of a slow link (PipeMorph, NSDI 2026, section 5.2). Threads of this rank carry
// the messages over connections of their own, so that no transfer ever holds up the device's streams or the thread that
// launches operations.
#pragma once

#include <memory>

#include "comm/connection.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

struct DelegateOptions {
  int delegates = 4;       ///< threads, each with a queue and a connection of its own, per direction; ≥ 1
  double deadline_s = 60;  ///< for a peer that neither takes nor gives anything
  /// On a device whose memory the host reads: copy messages out too, so that a send is done, and its tensor free, without
  /// waiting for a slow link. (Where messages pass through pinned memory it is always so.)
  bool copy_out = false;
  Signal* signal = nullptr;  ///< what the link notifies, for a waiter of several links; none = one of its own
};

/// The sum of what a link's delegates have done: for measuring and for choosing how many are needed.
struct DelegateStatistics {
  std::uint64_t messages_sent = 0;
  double sending_s = 0;   ///< in transmission, summed over the sending delegates
  double queueing_s = 0;  ///< between send() and the start of transmission, summed
  std::uint64_t copied_bytes =
      0;  ///< of messages, by processors of this end: into connections, and out of them
  int reconnections = 0;
};

class DelegatedLink : public Link {
 public:
  /// How many delegates serve each direction from the next message on (both ends call it with the same number, while no
  /// transfer is under way). New connections are made at once.
  virtual void set_delegates(int delegates) = 0;
  virtual DelegateStatistics statistics() const = 0;
};

/// Both ends make it at the same time with the same `name` (unique among the links of the two ranks). The rank with the
/// lower number connects, the other accepts, on the peer's addresses in order; a broken connection is made again on the
/// next address, and what was not acknowledged is sent again: nothing is lost, doubled or reordered within a tag. When no
/// address answers within the deadline, transfers throw Error(link) naming link, ranks and hosts.
///
/// Messages go to the delegates in turn (round-robin). On a device whose memory the host cannot read, each passes through
/// page-aligned pinned buffers: copy, completion event, transmission; the receiver's delegates fetch eagerly and copy to the
/// device. Between asynchronous devices of one host both copies use one buffer, which both processes see, piece by piece at
/// the same time; delegates carry the message's header alone (shared_buffer_pool.hpp). On the CPU they send from and receive
/// into the tensors themselves.
///
/// A send is done when its tensor may change: on the CPU when the peer has acknowledged it, else when it is copied out
/// (the buffer then answers for its delivery). A receive whose message comes first takes it when it is posted, however
/// late: the receiver fetches everything, so a late receive never holds up the messages behind it.
///
/// On an asynchronous device neither send, receive nor order_before block: the device waits for the message
/// (comm/inbox/copy_in.hpp). A link that fails lets it go on with whatever its memory holds; done() and wait() say so, and nobody
/// may use what was computed before they have said that the message is here. There a link's receives are copied to the
/// device in the order in which they came or were ordered before something.
///
/// Making a link does not wait for the peer; the first transfers do. The destructor waits (at most the deadline) until all
/// that was sent has arrived and tells the peer, whose transfers that can no longer complete then throw Error(link);
/// unwinding from an error it tells the peer without waiting. `transport` and `device` must outlive the link.
std::unique_ptr<DelegatedLink> create_delegated_link(const std::string& name, const Peer& me,
                                                     const Peer& peer, Transport& transport,
                                                     kernels::Device& device, DelegateOptions options);

/// How many delegates keep pace with a producer: each carries one message at a time, which takes `transfer_s`, and one is
/// made every `production_interval_s` (PipeMorph, section 5.2). At least 1, at most 64.
int delegates_needed(double transfer_s, double production_interval_s);

}  // namespace tenax::comm
