// Challenge: two processes prove to each other that they know their job's secret, over a line that
// others may hear and write to. Bytes in, bytes out: the handshake carries them (handshake.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "comm/transport/connection_request.hpp"
#include "comm/transport/job_secret.hpp"

namespace tenax::comm {

/// What an end says of another one whose proof is wrong.
inline constexpr char kNotOfThisJob[] = "refused: not of this job";

/// One end's part of one connection; never used for a second one. Each end draws a nonce and sends
/// it in clear. A proof is HMAC-SHA-256, under the secret, of the proving end, both nonces, and a
/// claim: bytes that both ends know of the connection (its request, and what they said before). A proof that somebody
/// overhears opens no other connection, as one nonce is always the verifier's own. Nor can it be
/// sent back to its sender, as it names its direction.
///
/// Thread rule: one thread at a time.
class Challenge {
 public:
  static constexpr std::size_t kBytes = 32;
  using Nonce = std::array<std::byte, kBytes>;
  using Proof = std::array<std::byte, kBytes>;

  /// Draws this end's nonce. Throws Error(rank) where the kernel has no random numbers.
  Challenge(const JobSecret& secret, ConnectionEnd end);

  const Nonce& nonce() const { return nonce_of_end_[index(end_)]; }
  /// The other end's nonce. Needed before all below.
  void set_other_nonce(const Nonce& nonce) { nonce_of_end_[1 - index(end_)] = nonce; }

  Proof prove(std::span<const std::byte> claim) const { return proof_of(end_, claim); }
  /// Whether `proof` is the other end's. The time taken does not depend on it.
  bool is_proven(std::span<const std::byte> claim, std::span<const std::byte, kBytes> proof) const;
  /// Encrypts bytes under the secret, or decrypts them. At most once a connection: a second text
  /// would show how the two differ.
  void mask(std::span<std::byte> bytes) const;

 private:
  static std::size_t index(ConnectionEnd end) { return end == ConnectionEnd::connecting ? 0 : 1; }
  Proof proof_of(ConnectionEnd end, std::span<const std::byte> claim) const;
  Proof authenticate(const char* label, std::span<const std::byte> text) const;

  JobSecret secret_;
  ConnectionEnd end_;
  std::array<Nonce, 2> nonce_of_end_{};
};

}  // namespace tenax::comm
