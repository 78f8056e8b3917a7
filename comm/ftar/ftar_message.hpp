// FtarMessage: what neighbours in the ring tell each other (comm/README.md draws it).
#pragma once

#include <cstdint>

namespace tenax::comm {

/// As it travels; both ends are builds of one program for one kind of processor. A chunk's bytes
/// follow it, unless the receiver reads them in the sender's memory, or there are none (emulated
/// device).
struct FtarMessage {
  enum class Kind : std::int32_t {
    grant = 1,  ///< to the rank before: this bucket has begun here, send its chunks
    chunk,      ///< to the rank after
    ack,        ///< to the rank before: all chunks of the bucket have been taken; none is read again
    has,        ///< to the rank before, first of all on a connection: so many turns of a column have come
    complete,   ///< to the rank before: that was all it has (ProgressReport)
    alive,      ///< to either: a sign of life
    ends,       ///< to either: the exchange is over; `bucket` = index of the replica at fault, or -1
  };
  static constexpr std::int32_t kNoRegion = -1;

  Kind kind = Kind::grant;
  std::int32_t bucket = 0;
  std::int64_t step = 0;
  std::int64_t turn = 0;            ///< chunk, has; in a grant the bucket's elements
  std::int32_t column = 0;          ///< chunk, has; in a grant the dtype
  std::int32_t region = kNoRegion;  ///< chunk: where it lies in the sender's memory
  std::uint64_t offset = 0;         ///< chunk: there; in a grant a checksum of the options
  std::uint64_t payload_bytes = 0;  ///< that follow
};
static_assert(sizeof(FtarMessage) == 48);

}  // namespace tenax::comm
