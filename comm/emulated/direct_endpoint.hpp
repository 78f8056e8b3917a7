// The emulated device's direct point-to-point, which blocks as NCCL's does (PipeMorph, NSDI 2026, section 3.2).
#pragma once

#include <memory>
#include <vector>

#include "comm/connection.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

/// send_queue: every send enters this rank's one in-order queue (all neighbours, both directions), with room for `depth`
///   messages, the one in transit included; one message at a time is in transit. A send blocks the calling thread, and so
///   the launch of later compute, while the queue is full.
/// shared_channel: both directions between two ranks share one in-order channel, one transfer at a time, first come first
///   served; a send does not block. Transfers marked as pairs (1F1B's fused send/receive) run both ways at once.
enum class DirectModel { send_queue, shared_channel };

struct DirectOptions {
  DirectModel model = DirectModel::send_queue;
  int depth = 1;
  bool paired = false;   ///< shared_channel: opposite transfers of a pair do not wait for each other
  double link_gbps = 0;  ///< a message occupies its place for bytes / bandwidth as well; 0 = infinite
  double deadline_s = 60;
};

/// An Endpoint whose links go to `neighbours` (the ranks before and after in a pipeline; others assert). Both ends of a
/// link make it at the same time with the same `name`. Messages are real, dataless ones headers alone.
std::unique_ptr<Endpoint> create_emulated_direct_endpoint(const std::string& name,
                                                          const std::vector<Peer>& group, int rank,
                                                          const std::vector<int>& neighbours,
                                                          Transport& transport, kernels::Device& device,
                                                          DirectOptions options);

}  // namespace tenax::comm
