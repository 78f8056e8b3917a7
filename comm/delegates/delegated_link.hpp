// DelegatedLink: the CPU side of a slow link (PipeMorph, NSDI 2026, section 5.2). Threads of this rank,
// the delegates, carry the messages over connections of their own. No transfer ever holds up the device's
// streams or the thread that launches operations.
//
//   a message:     COPYING ----> QUEUED ----> SENT ----> ACKNOWLEDGED: its memory is free
//                  (to pinned      ^           |
//                  memory)         +-----------+  its connection broke
//
//   a connection:  CONNECTING -> CONNECTED -> BROKEN
//                      ^                        |  on the peer's next address
//                      +------------------------+
//                  no address answers within the deadline, or the peer closes the link:
//                  the link FAILS, and unfinished transfers throw Error(link)
//
//   a receive:     posted first: the message is read straight into its memory [and copied in]
//                  posted late:  the message waits for it in host memory
#pragma once

#include <memory>

#include "comm/connection.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

/// Where messages are copied out of the device: enough that a delegate never waits for one while
/// acknowledgements travel, at two link delays each way.
inline constexpr int kBuffersPerDelegate = 8;

struct DelegateOptions {
  int delegates = 4;       ///< per direction; each has a thread, a queue and a connection; ≥ 1
  double deadline_s = 60;  ///< for a peer that neither takes nor gives anything
  double link_gbps = 0;    ///< emulated: of a direction, which all its delegates share; 0 = infinite
};

class DelegatedLink : public Link {
 public:
  /// Sets the number of delegates per direction, from the next message on. Both ends call it with
  /// the same number, while no transfer is under way. New connections are made at once.
  virtual void set_delegates(int delegates) = 0;
  /// Bytes of messages that processors of this end copied: into connections, out of them, and from host memory to
  /// host memory.
  virtual std::uint64_t copied_bytes() const = 0;
};

/// Both ends make it at the same time with the same `name`, unique among the links of the two
/// ranks. The rank with the lower number connects, on the peer's addresses in order; the other
/// accepts. A broken connection is made again on the next address, and messages that were not
/// acknowledged are sent again: nothing is lost, doubled or reordered within a tag. When no address
/// answers within the deadline, transfers throw Error(link) naming link, ranks and hosts.
///
/// Messages go to the delegates in turn: of k delegates, number j mod k carries message j of a
/// direction. A message has a number within its tag, by which it meets its receive and is dropped
/// if it comes twice. On the CPU delegates send from and receive into the tensors themselves. On a
/// device whose memory the host cannot read, a message passes through pinned buffers at both ends.
/// Between asynchronous devices of one host both copies use one shared buffer, piece by piece at
/// the same time, and delegates carry the header alone (shared_buffer_pool.hpp).
///
/// A send is done when its tensor may change: on the CPU when the peer has acknowledged it, else
/// when it is copied out. The receiver's delegates fetch every message at once: a late receive
/// never holds up the messages behind it.
///
/// On an asynchronous device neither send, receive nor order_before block: the device waits for the
/// message (comm/inbox/copy_in.hpp). When a link fails, the device goes on with whatever its memory
/// holds, and done() and wait() throw. Results may be used only once they have told that the
/// message is here. A link's receives are copied to the device in the order in which they came or
/// were ordered before something.
///
/// Making a link does not wait for the peer; its first transfers do. The destructor waits (at most
/// the deadline) until all sends have arrived, then tells the peer, whose unfinished transfers
/// throw Error(link). Unwinding from an error it tells the peer without waiting. `transport` and
/// `device` must outlive the link.
std::unique_ptr<DelegatedLink> create_delegated_link(const std::string& name, const Peer& me,
                                                     const Peer& peer, Transport& transport,
                                                     kernels::Device& device, DelegateOptions options);

/// The delegates that keep pace with a producer, who makes a message every `production_interval_s`;
/// each delegate carries one at a time, in `transfer_s` (PipeMorph, section 5.2). From 1 to 64.
int delegates_needed(double transfer_s, double production_interval_s);

}  // namespace tenax::comm
