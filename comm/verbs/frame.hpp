// A frame: what one RDMA write puts into the other end's ring. A message is a frame with its header
// and the beginning of its payload, and as many frames with more of it as it takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/transport/message_wire.hpp"

namespace tenax::comm::verbs {

inline constexpr std::size_t kUnit = 64;                           ///< frames begin at multiples of it
inline constexpr std::size_t kMostPiece = std::size_t{256} << 10;  ///< payload in a frame

/// How much of a ring a frame takes.
constexpr std::size_t room_of(std::size_t frame_bytes) { return (frame_bytes + kUnit - 1) / kUnit * kUnit; }

/// The 32 bits that come with a frame.
struct FrameMark {
  std::uint32_t bytes = 0;      ///< below 2^31
  bool begins_message = false;  ///< it starts with a header
  std::uint32_t value() const { return bytes | (begins_message ? 1U << 31 : 0U); }
  static FrameMark of(std::uint32_t value) { return {value & ~(1U << 31), (value >> 31) != 0}; }
};

/// The 32 bits of a credit: what the receiver has taken out of its ring since the last one.
struct Credit {
  std::uint32_t units = 0;   ///< of kUnit bytes, at most kMostUnits
  std::uint32_t frames = 0;  ///< at most kMostFrames
  static constexpr std::uint32_t kUnitBits = 20, kMostUnits = (1U << kUnitBits) - 1, kMostFrames = 4095;
  std::uint32_t value() const { return units | frames << kUnitBits; }
  static Credit of(std::uint32_t value) { return {value & kMostUnits, value >> kUnitBits}; }
};

/// How a ring's memory and receives are measured. Both ends compute it from the ring's size.
struct RingSize {
  std::size_t bytes = 0;  ///< whole pages, 64 KiB … 64 MiB
  int frames() const;     ///< receives, and so the most frames that are not taken out yet
  static bool is_possible(std::uint64_t bytes);
};

}  // namespace tenax::comm::verbs
