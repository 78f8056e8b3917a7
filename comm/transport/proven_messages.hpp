// ProvenMessages: what the two ends of a new connection agree on, after their handshake, each word
// of it proven.
#pragma once

#include <string>
#include <vector>

#include "comm/transport/challenge.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// A text goes with a proof (challenge.hpp) of the connection's request and of all texts of either
/// end so far: nobody can change, repeat or leave out one. The ends take turns. Texts are not
/// secret.
///
/// Thread rule: one thread.
class ProvenMessages {
 public:
  static constexpr std::size_t kMost = 4096;  ///< bytes a text

  /// `socket`: connected and non-blocking, and it outlives this; `challenge`: the handshake's.
  /// `where`: for errors. All of it has to be said by `deadline`.
  ProvenMessages(int socket, const Challenge& challenge, const ConnectionRequest& request, std::string where,
                 kernels::Deadline deadline);

  /// At most kMost bytes. Throws Error(link).
  void send(const std::string& text);
  /// The other end's next text. Throws Error(link) when it is refused (the reason is told), is not
  /// proven, or does not come.
  std::string receive();
  /// Throws Error(link) where the other end has left, or refuses instead of going on in silence.
  void check();
  /// Whether the other end has said something more, perhaps what is no text. Throws Error(link) where it has left.
  bool has_more() const;
  /// Instead of a text: the other end's receive() throws with the reason.
  void refuse(const std::string& reason);

  const std::string& where() const { return where_; }
  kernels::Deadline deadline() const { return deadline_; }

 private:
  void send_marked(char mark, const std::string& text);
  void write(std::span<const std::byte> bytes);
  void read(std::span<std::byte> bytes);

  const int socket_;
  const Challenge& challenge_;
  const std::string where_;
  const kernels::Deadline deadline_;
  std::vector<std::byte> said_;  // what proofs are of
};

}  // namespace tenax::comm
