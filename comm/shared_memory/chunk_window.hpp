// ChunkWindow: how a shared segment is laid out for collectives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenax::comm {

/// How far one rank has come, in chunks since the communicator was made; it alone writes these.
/// Zeroed memory is a valid start.
struct alignas(128) RankProgress {
  std::atomic<std::uint64_t> published;  ///< its contributions are in the window
  std::atomic<std::uint64_t> reduced;    ///< the sum over its own piece is in the window
  std::atomic<std::uint64_t> collected;  ///< it will not read the chunk again
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared counters must not need a lock");

/// A RankProgress for each rank, then kBuffers buffers. Chunk k lives in buffer k mod kBuffers, as
/// ranks x ranks blocks: block (from, to) is what `from` contributes to the piece of `to`; block
/// (p, p) is the result.
class ChunkWindow {
 public:
  static constexpr int kBuffers = 4;

  ChunkWindow(std::byte* data, int ranks) : data_(data), ranks_(static_cast<std::size_t>(ranks)) {}

  /// Blocks are whole cache lines. All of a rank's blocks together hold at most 512 KB: smaller
  /// chunks are as fast while every rank has a core, but cost a change of process each where ranks
  /// share one. The window holds at most 8 MB.
  static constexpr std::size_t block_bytes(int ranks) {
    constexpr std::size_t kRow = 512 * 1024, kWindow = 8 * 1024 * 1024;
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t row = kWindow / (kBuffers * n) < kRow ? kWindow / (kBuffers * n) : kRow;
    return row / n < 64 ? 64 : row / n / 64 * 64;
  }
  static constexpr std::size_t bytes(int ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    return n * sizeof(RankProgress) + kBuffers * n * n * block_bytes(ranks);
  }

  RankProgress& progress(int rank) const { return reinterpret_cast<RankProgress*>(data_)[rank]; }
  /// Blocks of one `from` lie side by side.
  std::byte* block(std::uint64_t chunk, int from, int to) const {
    const std::size_t buffer = chunk % kBuffers;
    const std::size_t index =
        (buffer * ranks_ + static_cast<std::size_t>(from)) * ranks_ + static_cast<std::size_t>(to);
    return data_ + ranks_ * sizeof(RankProgress) + index * block_bytes(static_cast<int>(ranks_));
  }

 private:
  std::byte* data_;
  std::size_t ranks_;
};

}  // namespace tenax::comm
