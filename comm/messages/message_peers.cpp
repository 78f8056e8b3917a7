#include "comm/messages/message_peers.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace tenax::comm {

using kernels::Deadline;

void MessagePeers::open(MessageSocket socket, const std::string& purpose) {
  const int descriptor = socket.descriptor();
  const MessagePeerId id = ++last_id_;
  peer_of_descriptor_.emplace(descriptor, Peer{id, std::move(socket), {}, {}});
  descriptor_of_id_[id] = descriptor;
  handler_.on_open(id, purpose);
}

template <class Work>
void MessagePeers::attempt(Peer& peer, const Work& work) {
  if (!peer.broken.empty()) return;
  try {
    work();
  } catch (const kernels::Error& error) {
    peer.broken = error.what();
    ending_.insert_or_assign(peer.id, Deadline::after_s(0));
  }
}

void MessagePeers::advance(int descriptor) {
  Peer& peer = peer_of_descriptor_.at(descriptor);
  std::vector<std::string> texts;
  attempt(peer, [&] { peer.socket.read(texts); });
  if (peer.socket.has_unsent()) write(peer);
  if (peer.farewell) return;
  for (const std::string& text : texts) handler_.on_message(peer.id, text);
}

void MessagePeers::write(Peer& peer) {
  attempt(peer, [&] { peer.socket.flush(); });
  if (peer.socket.has_unsent()) return;
  poll_.set_interest(peer.socket.descriptor(), EventPoll::Interest::reads);
  if (peer.farewell) peer.socket.finish();
}

MessagePeers::Peer* MessagePeers::find(MessagePeerId id) {
  const auto found = descriptor_of_id_.find(id);
  return found == descriptor_of_id_.end() ? nullptr : &peer_of_descriptor_.at(found->second);
}

void MessagePeers::send(MessagePeerId id, const std::string& text) {
  Peer* const peer = find(id);
  if (!peer || peer->farewell) return;
  const bool waited = peer->socket.has_unsent();
  attempt(*peer, [&] { peer->socket.send(text); });
  if (!waited && peer->socket.has_unsent())
    poll_.set_interest(peer->socket.descriptor(), EventPoll::Interest::reads_and_writes);
}

void MessagePeers::close(MessagePeerId id) {
  Peer* const peer = find(id);
  if (!peer || peer->farewell) return;
  peer->farewell = Deadline::after_s(kFarewell_s);
  ending_.try_emplace(id, *peer->farewell);
  if (!peer->socket.has_unsent()) peer->socket.finish();
}

void MessagePeers::drop_ended() {
  for (auto next = ending_.begin(); next != ending_.end();) {
    if (!next->second.expired()) {
      ++next;
      continue;
    }
    const MessagePeerId id = next->first;
    next = ending_.erase(next);
    const auto peer = peer_of_descriptor_.extract(descriptor_of_id_.at(id));
    descriptor_of_id_.erase(id);
    if (!peer.mapped().farewell) handler_.on_close(id, peer.mapped().broken);
  }
}

Deadline MessagePeers::deadline() const {
  const auto first = std::min_element(ending_.begin(), ending_.end(), [](const auto& a, const auto& b) {
    return a.second.when() < b.second.when();
  });
  return first == ending_.end() ? Deadline::after_s(1e9) : first->second;
}

}  // namespace tenax::comm
