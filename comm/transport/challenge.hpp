// Challenge: how two processes prove to each other that they know their job's secret, over a line that others may hear and
// write to. Bytes in, bytes out: whatever carries them (sockets here; other kinds of connections use it alike).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "comm/transport/connection_request.hpp"
#include "comm/transport/job_secret.hpp"

namespace tenax::comm {

/// One end's part of one connection; never used for a second one. Each end draws a nonce and tells it in clear. A proof is
/// HMAC-SHA-256, under the secret, of which end proves, both nonces, and a claim: what the connection is, as bytes that both
/// ends know (who calls whom, and for what). Whoever hears it learns nothing that is good for another connection, as one nonce
/// is always the verifier's own; nor can it be sent back to its sender, as each end proves in its own direction.
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
  /// What the other end has told. Needed before all below.
  void set_other_nonce(const Nonce& nonce) { nonce_of_end_[1 - index(end_)] = nonce; }

  Proof prove(std::span<const std::byte> claim) const { return proof_of(end_, claim); }
  /// Whether `proof` is the other end's; takes as long whatever it is.
  bool is_proven(std::span<const std::byte> claim, std::span<const std::byte, kBytes> proof) const;
  /// Hides bytes from whoever does not know the secret, or shows them again. At most once a connection, or it tells what
  /// two texts differ in.
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
