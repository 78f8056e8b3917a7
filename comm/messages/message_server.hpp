// MessageServer: takes in any number of processes of a run and exchanges messages with them.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/messages/message_peers.hpp"
#include "comm/transport/incoming_handshakes.hpp"

namespace tenax::comm {

struct MessageServerOptions {
  JobSecret secret;                     ///< who knows it is let in
  std::string listen;                   ///< "ADDRESS:PORT", as numbers; empty: a free port of each interface
  std::vector<std::string> interfaces;  ///< for an empty `listen`: names or addresses; none = all that are up
  /// A server that takes another one's place, at its address too, has the same.
  Identity identity = Identity::random();
  double silence_s = 5;             ///< a host that acknowledges nothing for so long is taken for dead
  std::size_t most_unproven = 256;  ///< descriptors of callers that have not proven themselves
};

/// One thread serves all, from construction to destruction. A caller proves that it knows the
/// secret (handshake.hpp) within 5 s, or is refused. After that messages go both ways, each a text of
/// at most kMostMessageBytes, in order. A peer that reads nothing, or that sends what is no message,
/// is closed; nobody else notices. Nothing is told of who never proves itself.
///
/// Thread rule: any thread, the handler's calls included. Nothing blocks but construction and
/// destruction.
class MessageServer {
 public:
  /// `handler` must outlive it. Throws Error(rank) when it cannot listen.
  MessageServer(MessageServerOptions options, MessageHandler& handler);
  /// Peers get what was sent to them, if they read, and see their connections closed; the handler
  /// hears nothing more.
  ~MessageServer();
  MessageServer(const MessageServer&) = delete;
  MessageServer& operator=(const MessageServer&) = delete;

  /// "tcp:10.0.0.5:4000#IDENTITY", of each interface: what clients are given.
  std::vector<std::string> addresses() const;

  /// Nothing where the peer is gone: on_close() has said so or will. A text that is too long closes
  /// the peer.
  void send(MessagePeerId peer, std::string text);
  /// The peer still gets what was sent to it before, if it reads within 2 s.
  void close(MessagePeerId peer);
  /// Asks for one on_time() then; replaces the time that was asked for before.
  void run_at(kernels::Deadline time);

 private:
  struct Command {
    MessagePeerId peer = 0;
    std::string text;
    bool closes = false;
  };
  void run();
  void advance(int descriptor);
  void accept_from(const ListeningSocket& listener);
  void take_in(AuthenticatedSocket caller);
  void set_listening(bool listens);
  void command(Command command);
  void carry_out_commands();
  void tell_time();
  kernels::Deadline next_deadline();

  double silence_s_;
  MessageHandler& handler_;
  std::vector<ListeningSocket> sockets_;
  EventPoll poll_;
  IncomingHandshakes handshakes_;
  MessagePeers peers_;
  std::optional<kernels::Deadline> listens_again_;  // while the process has no descriptor for anybody
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;  // of what follows
  std::vector<Command> commands_;
  std::optional<kernels::Deadline> time_;
  std::thread thread_;
};

}  // namespace tenax::comm
