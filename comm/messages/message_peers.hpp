// MessagePeers: the connections that a message server has taken in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "comm/messages/event_poll.hpp"
#include "comm/messages/message_handler.hpp"
#include "comm/messages/message_socket.hpp"

namespace tenax::comm {

/// A peer is open until its connection breaks or close() is called. One that is closed is given
/// what was sent to it before, for at most kFarewell_s, and heard no more.
///
/// Thread rule: the server's thread alone. The handler may not call back.
class MessagePeers {
 public:
  static constexpr double kFarewell_s = 2;

  /// Both must outlive it.
  MessagePeers(EventPoll& poll, MessageHandler& handler) : poll_(poll), handler_(handler) {}

  /// `socket` is watched already.
  void open(MessageSocket socket, const std::string& purpose);
  bool has(int descriptor) const { return peer_of_descriptor_.contains(descriptor); }
  /// Reads and writes what it can; the peer has descriptor `descriptor`.
  void advance(int descriptor);
  /// Nothing where that peer is not open any more.
  void send(MessagePeerId id, const std::string& text);
  void close(MessagePeerId id);

  /// Drops those that are at their end, and tells the handler of those that broke.
  void drop_ended();
  /// When drop_ended() has something to do at the latest; with nothing, in the far future.
  kernels::Deadline deadline() const;

 private:
  struct Peer {
    MessagePeerId id = 0;
    MessageSocket socket;
    std::string broken;  ///< why; empty = it is not
    std::optional<kernels::Deadline> farewell;
  };
  Peer* find(MessagePeerId id);
  void write(Peer& peer);
  /// Runs `work` on the socket; an Error breaks the peer.
  template <class Work>
  void attempt(Peer& peer, const Work& work);

  EventPoll& poll_;
  MessageHandler& handler_;
  MessagePeerId last_id_ = 0;
  std::unordered_map<int, Peer> peer_of_descriptor_;
  std::unordered_map<MessagePeerId, int> descriptor_of_id_;
  std::map<MessagePeerId, kernels::Deadline> ending_;  ///< when to look at them
};

}  // namespace tenax::comm
