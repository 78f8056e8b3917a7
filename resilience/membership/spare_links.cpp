#include "resilience/membership/spare_links.hpp"

namespace tenax::resilience {

void SpareLinks::add(PeerId peer, int spare, double now) {
  if (const auto earlier = peer_of(spare)) links_.erase(*earlier);
  links_[peer] = {.spare = spare, .heard_s = now};
}

bool SpareLinks::hear(PeerId peer, double now) {
  const auto link = links_.find(peer);
  if (link == links_.end()) return false;
  link->second.heard_s = now;
  return true;
}

std::optional<int> SpareLinks::remove(PeerId peer) {
  const auto link = links_.extract(peer);
  if (!link) return {};
  return link.mapped().spare;
}

std::optional<PeerId> SpareLinks::peer_of(int spare) const {
  for (const auto& [peer, link] : links_)
    if (link.spare == spare) return peer;
  return {};
}

std::vector<PeerId> SpareLinks::silent(double now, double dead_s) const {
  std::vector<PeerId> peers;
  for (const auto& [peer, link] : links_)
    if (now - link.heard_s > dead_s) peers.push_back(peer);
  return peers;
}

void SpareLinks::shift(double pause_s) {
  for (auto& [peer, link] : links_) link.heard_s += pause_s;
}

}  // namespace tenax::resilience
