#include "resilience/blame/peer_lag.hpp"

#include "resilience/blame/wait_graph.hpp"

namespace tenax::resilience {
namespace {

// "data@3#12" and "data.0.3" are data groups.
std::string kind_of(const HangDump::Channel& channel) {
  return channel.name.substr(0, channel.name.find_last_not_of("0123456789.@#") + 1);
}

}  // namespace

PeerLag::PeerLag(const HangDump& dump) : dump_(dump), started_(dump.ranks.size()) {
  for (const HangDump::Channel& channel : dump.channels) {
    if (channel.is_one_way()) continue;
    for (const ChannelSeat& seat : channel.seats)
      started_[static_cast<std::size_t>(seat.rank)][kind_of(channel)] += seat.started;
  }
  for (std::size_t rank = 0; rank < dump.ranks.size(); ++rank)
    if (const OpenOperation* const at = awaited(dump.ranks[rank]))
      standing_[{at->channel, at->number}].push_back(static_cast<int>(rank));
}

double PeerLag::of(int rank, int channel) const {
  const OpenOperation* const at = awaited(dump_.ranks[static_cast<std::size_t>(rank)]);
  const auto started = [&](int of) {
    const auto& counts = started_[static_cast<std::size_t>(of)];
    const auto found = counts.find(kind_of(dump_.channels[static_cast<std::size_t>(channel)]));
    return found == counts.end() ? 0 : found->second;
  };
  if (!at) return 0;
  const std::vector<int>& peers = standing_.at({at->channel, at->number});
  if (peers.size() < 2) return 0;
  double more = 0;
  for (const int peer : peers) more += peer == rank ? 0 : started(peer) > started(rank) ? 1 : -1;
  return more / static_cast<double>(peers.size() - 1);
}

}  // namespace tenax::resilience
