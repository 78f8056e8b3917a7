// A frame: what one RDMA write puts into the other end's ring. A message is a frame with its header
// and the beginning of its payload, and as many frames with more of it as it takes. Where the payload waits for an answer,
// the first frame has the header alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/transport/message_wire.hpp"

namespace tenax::comm::verbs {

inline constexpr std::size_t kUnit = 64;                           ///< frames begin at multiples of it
inline constexpr std::size_t kMostPiece = std::size_t{256} << 10;  ///< payload in a frame
inline constexpr std::size_t kAnswerPage = 4096;                   ///< registered for answers, at either end

/// How much of a ring a frame takes.
constexpr std::size_t room_of(std::size_t frame_bytes) { return (frame_bytes + kUnit - 1) / kUnit * kUnit; }

/// The 32 bits that come with a frame.
struct FrameMark {
  std::uint32_t bytes = 0;      ///< at most kMostBytes
  bool begins_message = false;  ///< it starts with a header
  /// With a header: the payload waits for an answer, where it may be written. Else: it is not in the ring, but has been
  /// written where the answer said.
  bool is_offered = false;
  static constexpr std::uint32_t kMostBytes = (1U << 30) - 1;
  std::uint32_t value() const {
    return bytes | (is_offered ? 1U << 30 : 0U) | (begins_message ? 1U << 31 : 0U);
  }
  static FrameMark of(std::uint32_t value) {
    return {value & kMostBytes, (value >> 31) != 0, (value >> 30 & 1U) != 0};
  }
};

/// The 32 bits of a credit: what the receiver has taken out of its ring since the last one.
struct Credit {
  std::uint32_t units = 0;   ///< of kUnit bytes, at most kMostUnits
  std::uint32_t frames = 0;  ///< at most kMostFrames
  static constexpr std::uint32_t kUnitBits = 20, kMostUnits = (1U << kUnitBits) - 1, kMostFrames = 4095;
  std::uint32_t value() const { return units | frames << kUnitBits; }
  static Credit of(std::uint32_t value) { return {value & kMostUnits, value >> kUnitBits}; }
};

/// The answer to a header whose payload waits for it: where the payload may be written.
struct OfferedMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< the payload's; 0: nowhere, it goes through the ring
  std::uint32_t key = 0, unused = 0;
};
static_assert(sizeof(OfferedMemory) == 24);
/// The 32 bits that come with it: those of no credit.
inline constexpr std::uint32_t kAnswer = 0;

/// How a ring's memory and receives are measured. Both ends compute it from the ring's size.
struct RingSize {
  std::size_t bytes = 0;  ///< whole pages, 64 KiB … 64 MiB
  int frames() const;     ///< receives, and so the most frames that are not taken out yet
  static bool is_possible(std::uint64_t bytes);
};

}  // namespace tenax::comm::verbs
