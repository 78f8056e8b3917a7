#include "parallel/replica/pair_link.hpp"

#include <vector>

namespace tenax::parallel {
namespace {

std::unique_ptr<comm::Communicator> join_emulated(const PipelineContext& context, const JoinedPair& pair,
                                                  const std::string& name, double deadline_s) {
  constexpr int kManyMessages = 1 << 16;
  const int me = context.world.rank() == pair.rank ? 0 : 1;
  comm::DirectOptions options;
  options.depth = kManyMessages;
  if (pair.kind != GroupKind::tensor) options.link_gbps = context.options.emulated.link_gbps;
  options.deadline_s = deadline_s;
  const auto peer = [&](int rank) { return context.peers[static_cast<std::size_t>(rank)]; };
  const std::vector<comm::Peer> both = {peer(pair.rank), peer(pair.other)};
  const auto make_links = [=, &transport = *context.transport,
                           &device = context.device](const std::vector<int>& neighbours) {
    return comm::create_emulated_direct_endpoint(name, both, me, neighbours, transport, device, options);
  };
  return comm::create_emulated_ring_communicator(name, me, 2, make_links, context.device, {deadline_s});
}

}  // namespace

// A rank that is in no pair splits into a group of its own, which is dropped.
PairLink join_pair(const PipelineContext& context, const JoinedPair* pair, const std::string& name,
                   double deadline_s) {
  if (context.device.kind() == kernels::DeviceKind::emulated)
    return {.group = pair ? join_emulated(context, *pair, name, deadline_s) : nullptr};
  const int me = context.world.rank();
  auto endpoint = context.world.split_endpoint(pair ? pair->rank : me, me);
  if (!pair) return {};
  PairLink link{.host = kernels::create_cpu_device()};
  link.group = comm::create_link_communicator(name, std::move(endpoint), *link.host, {deadline_s});
  return link;
}

}  // namespace tenax::parallel
