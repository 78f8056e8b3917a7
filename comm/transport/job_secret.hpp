// JobSecret: 32 random bytes that the ranks of one job know, and nobody else.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "comm/control_group.hpp"

namespace tenax::comm {

/// Never part of an address, a name or a message; connections prove that they know it
/// (challenge.hpp). Replicas read it from a file of the run directory.
class JobSecret {
 public:
  static constexpr std::size_t kBytes = 32;
  /// A new one. Throws Error(rank) where the kernel has no random numbers.
  static JobSecret draw();
  /// Collective over `control`, whose messages are MPI's: what its rank 0 draws, on every rank.
  static JobSecret share(ControlGroup& control);

  /// 64 hexadecimal digits, for a file that its owner alone may read.
  std::string text() const;
  /// Of text(). Throws Error(rank) when that is no secret's; the error does not quote it.
  static JobSecret parse(const std::string& text);

  std::span<const std::byte, kBytes> bytes() const { return bytes_; }

 private:
  JobSecret() = default;
  std::array<std::byte, kBytes> bytes_{};
};

/// From the kernel, for what must not be guessed. Throws Error(rank) where it has none.
void fill_randomly(std::span<std::byte> bytes);

}  // namespace tenax::comm
