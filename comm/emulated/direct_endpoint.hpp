// Links and collectives of the emulated device. Its direct point-to-point blocks as NCCL's does
// (PipeMorph, NSDI 2026, section 3.2).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/connection.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

/// send_queue: every send enters this rank's one in-order queue (all neighbours, both directions),
/// with room for `depth` messages, the one in transit included; one message at a time is in
/// transit. A send blocks the calling thread, and so the launch of later compute, while the queue
/// is full.
///
/// shared_channel: both directions between two ranks share one in-order channel, one transfer at a
/// time, first come first served; a send does not block. Paired (1F1B's fused send/receive): one
/// such channel per direction.
enum class DirectModel { send_queue, shared_channel };

struct DirectOptions {
  DirectModel model = DirectModel::send_queue;
  int depth = 1;
  bool paired = false;   ///< shared_channel: opposite transfers do not wait for each other
  double link_gbps = 0;  ///< a message occupies its place for bytes / bandwidth as well; 0 = infinite
  double deadline_s = 60;
};

/// The purposes of its connections (Transport::connect) begin with these, followed by the
/// endpoint's name: messages, and the requests and grants of a shared channel, which stand for what
/// the network card does by itself: fault injection leaves the latter alone.
inline constexpr std::string_view kDirectPurpose = "direct ";
inline constexpr std::string_view kChannelControlPurpose = "control ";

/// An Endpoint whose links go to `neighbours` (ranks of `group`: those before and after in a
/// pipeline or a ring; others assert). Both ends of a link make it at the same time with the same
/// `name`. Messages are real, dataless ones headers alone. A transfer that sends a dataless message
/// is done when the message has its place in the queue: there is no memory to wait for; one that
/// sends data when its transmission has ended. A link that breaks throws its Error(link) from then
/// on, from receives under way too; messages that had arrived before can still be received.
///
/// `transport` and `device` must outlive the endpoint, whose destructor waits for the messages in
/// its queues.
std::unique_ptr<Endpoint> create_emulated_direct_endpoint(const std::string& name,
                                                          const std::vector<Peer>& group, int rank,
                                                          const std::vector<int>& neighbours,
                                                          Transport& transport, kernels::Device& device,
                                                          DirectOptions options);

/// Makes this rank's links to `neighbours`, ranks of its group; both ends do at the same time.
using MakeLinks = std::function<std::unique_ptr<Endpoint>(const std::vector<int>& neighbours)>;

/// Over links to the ranks before and after (one link in a group of two), which `make_links` makes: at
/// once, and for another order of the ring those that no earlier one had. All are kept. A
/// reduce-scatter and an all-gather are size − 1 steps each, an all-reduce both; a step sends
/// ⌈elements / size⌉ elements to the rank after and waits for as many from the rank before. The
/// first step of a collective begins with its call, the others when done(), wait() or
/// order_before() finds that the one before has ended; wait() sleeps in between. An all_reduce
/// blocks the host. Give the links a queue that does not block (DirectOptions::depth): several
/// collectives may be under way. `device` and what `make_links` refers to must outlive the
/// communicator. Tensors have no data (asserted).
std::unique_ptr<Communicator> create_emulated_ring_communicator(std::string name, int rank, int size,
                                                                MakeLinks make_links, kernels::Device& device,
                                                                CommOptions options);

}  // namespace tenax::comm
