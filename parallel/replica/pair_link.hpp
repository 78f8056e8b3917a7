// PairLink: a link between two ranks that training has none between, to be tested.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/pipeline_context.hpp"

namespace tenax::parallel {

struct PairLink {
  /// In whose memory messages are; null: in the rank's own device's.
  std::unique_ptr<kernels::Device> host = {};
  /// The two ranks, the lower one first, which lends the link; null: this rank is in no pair.
  std::unique_ptr<comm::Communicator> group = {};
};

/// Two world ranks, and the kind of group whose messages go between them as here.
struct JoinedPair {
  GroupKind kind = GroupKind::data;
  int rank = 0, other = 0;
};

/// Collective over context.world: the ranks of each pair join; `pair` is null on ranks that are in
/// none. On the emulated device the link is one as EmulatedReplica makes them, else MPI's, with the
/// faults that are injected into either. `name` is the connection's, equal at both ends and not in
/// use. No wait lasts longer than `deadline_s`. What `context` refers to must outlive the link. Throws
/// Error(link).
PairLink join_pair(const PipelineContext& context, const JoinedPair* pair, const std::string& name,
                   double deadline_s);

}  // namespace tenax::parallel
