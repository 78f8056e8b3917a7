// Handshake: the messages that the two ends of a new connection exchange before it carries
// anything. The proofs in them are Challenge's (challenge.hpp).
#pragma once

#include <optional>
#include <vector>

#include "comm/transport/challenge.hpp"

namespace tenax::comm {

/// One end's part; bytes in, bytes out. Send start(), then answer each message of expected_bytes()
/// bytes with the result of take(), until is_over(). Thread rule: one thread at a time.
class Handshake {
 public:
  using Message = std::vector<std::byte>;
  static constexpr std::size_t kMostBytes = Challenge::kBytes + ConnectionRequest::kBytes;  ///< per message

  /// The connecting end's.
  Handshake(const JobSecret& secret, ConnectionRequest request);
  /// The accepting end's, which is `me`.
  Handshake(const JobSecret& secret, Identity me);

  /// This end's first message; may be empty.
  Message start() const;
  /// The size of the other end's next message.
  std::size_t expected_bytes() const;
  /// The answer to it; may be empty. `message` has expected_bytes(), and may hold anything.
  Message take(std::span<const std::byte> message);

  bool is_over() const { return state_ == State::proven || state_ == State::refused; }
  /// The other end knows the secret, and both mean the same request.
  bool is_proven() const { return state_ == State::proven; }
  /// Once proven.
  const ConnectionRequest& request() const { return request_; }
  /// Once proven: further messages of this connection may be proven by it.
  const Challenge& challenge() const { return challenge_; }

 private:
  enum class State { awaiting_nonce, awaiting_proof, proven, refused };
  Message hello() const;
  Message request_message();
  Message check_request(std::span<const std::byte> message);

  Challenge challenge_;
  ConnectionEnd end_;
  ConnectionRequest request_;  // at the accepting end `to` alone is known before the end
  State state_ = State::awaiting_nonce;
};

}  // namespace tenax::comm
