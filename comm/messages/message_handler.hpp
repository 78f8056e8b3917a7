// MessageHandler: what the owner of a message server does with what its peers say.
#pragma once

#include <cstdint>
#include <string>

namespace tenax::comm {

/// Numbers the connections that a server takes in, from 1; none is used twice.
using MessagePeerId = std::uint64_t;

/// All are called on the server's thread, one at a time, and must not throw or block: all peers
/// wait meanwhile.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  /// A peer that has proven itself. `purpose`: what it says that it connects for.
  virtual void on_open(MessagePeerId peer, const std::string& purpose) = 0;
  /// In the order in which the peer sent them.
  virtual void on_message(MessagePeerId peer, const std::string& text) = 0;
  /// The peer has closed, its connection is lost, it sends what is no message, or it reads nothing.
  /// The last of this peer; after MessageServer::close() it does not come.
  virtual void on_close(MessagePeerId peer, const std::string& reason) = 0;
  /// The time that MessageServer::run_at() gave has come.
  virtual void on_time() {}
};

}  // namespace tenax::comm
