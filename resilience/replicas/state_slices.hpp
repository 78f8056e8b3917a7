// StateSlices: a rank's training state as numbered slices of bytes, in which a replica that is
// behind fetches it from the equal ranks of others (ft-hsdp, 4.3 and 4.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/checksum.hpp"
#include "io/state_range.hpp"

namespace tenax::resilience {

// The messages with which state travels between equal ranks of two replicas.
//
//   fetching rank                                     serving rank
//     request: number = slice, sequence = done   ->
//                                                <-   slice: the same, and a payload: its bytes, then
//                                                     8 bytes with io's checksum of them
//                                                <-   gone: the state is not (any more) that after
//                                                     `done` steps
//
// Slices are asked for one ahead. A connection ends when the fetching rank closes it.
enum StateMessage : std::int32_t { kStateRequest = 1, kStateSlice = 2, kStateGone = 3 };

inline constexpr std::size_t kStateChecksumBytes = sizeof(std::uint64_t);

/// Of a slice's bytes.
inline std::uint64_t state_checksum(std::span<const std::byte> bytes) {
  return io::checksum_of_bytes(bytes, 0);
}

/// Equal ranks of all replicas have equal ranges, so a slice's number means the same everywhere.
/// Thread rule: reads from any thread; who writes sees to it that nobody reads.
class StateSlices {
 public:
  static constexpr std::size_t kSliceBytes = std::size_t{4} << 20;

  /// The memory of `ranges` must outlive it.
  explicit StateSlices(const std::vector<io::StateRange>& ranges);

  std::size_t bytes() const { return bytes_; }
  int count() const { return static_cast<int>((bytes_ + kSliceBytes - 1) / kSliceBytes); }
  std::size_t bytes_of(int slice) const;
  /// Copies a slice out of the state, and into it. `memory` has bytes_of(slice).
  void read(int slice, std::span<std::byte> memory) const;
  void write(int slice, std::span<const std::byte> memory) const;

 private:
  struct Part {
    std::byte* data;
    std::size_t begin, bytes;  // its place in the whole
  };
  template <class Copy>
  void for_each_part(int slice, Copy copy) const;

  std::vector<Part> parts_;
  std::size_t bytes_ = 0;
};

/// A rank's state as other replicas fetch it. Without slices there is none (the emulated device).
/// Where the slices are a copy of what lies on a device, `bring` makes the copy the state's (false:
/// the copy is in use for something else), `put` makes the state the copy's, and `release`, called before another replica's
/// state is written into the copy, returns once nobody reads it, and calls what it is given every second; else they are
/// empty. `publish`, collective over the replica's ranks, gives passes the weights of the state, as an
/// update does. All that it refers to outlives whoever has it.
struct StateAccess {
  const StateSlices* slices = nullptr;
  std::function<bool()> bring = {};
  std::function<void()> put = {};
  std::function<void(const std::function<void()>& waiting)> release = {};
  std::function<void()> publish = {};
};

}  // namespace tenax::resilience
