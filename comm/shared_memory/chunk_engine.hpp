// ChunkEngine: collectives of a group that shares a window of memory, chunk by chunk.
//
// A chunk passes three stages on every rank: publish (copy the own contributions to the other pieces into
// the window), reduce (sum the own piece over all ranks), collect (copy the other pieces' results out). A
// reduce-scatter has no collect, an all-gather no sum. Chunks are numbered through all collectives of the
// communicator and pass each stage in order: three counters a rank are all the synchronisation there is.
//   publish chunk k after all ranks collected chunk k - kBuffers (its buffer is free);
//   reduce it after all published it;  collect it after all reduced it.
// Stages of consecutive chunks overlap: nothing waits while any stage can go on.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "comm/shared_memory/chunk_window.hpp"

namespace tenax::comm {

/// Used by one thread. Nothing moves but inside step().
class ChunkEngine {
 public:
  ChunkEngine(ChunkWindow window, int rank, int size) : window_(window), rank_(rank), size_(size) {}

  enum class Kind { all_reduce, reduce_scatter, all_gather };
  /// Queues a collective; `tensor` must live until collected() reaches the number returned.
  std::uint64_t enqueue(Kind kind, const kernels::Tensor& tensor, ReduceOp op);
  /// Does one stage of one chunk if the other ranks have come far enough. False if none could be
  /// done.
  bool step();
  std::uint64_t collected() const { return collected_; }
  /// The ranks that this one waits for now.
  std::vector<int> late_ranks() const;

 private:
  struct Collective {
    kernels::Tensor tensor;
    ReduceOp op = ReduceOp::sum;
    bool reduces = false, gathers = false;
    bool whole = false;  ///< small: one chunk, and every rank sums all of it, which saves the collect
    std::int64_t chunk_elements = 0;   ///< per piece
    std::uint64_t begin = 0, end = 0;  ///< chunks
  };

  const Collective& collective_of(std::uint64_t chunk) const;
  kernels::Tensor slice(const Collective& collective, std::uint64_t chunk, int piece) const;
  bool is_reached_by_all(std::atomic<std::uint64_t> RankProgress::*stage, std::uint64_t chunks) const;
  bool buffer_is_free() const;
  bool is_late(const RankProgress& peer) const;

  bool try_publish();
  bool try_reduce();
  bool try_collect();
  void reduce_own(const Collective& collective, std::uint64_t chunk) const;

  ChunkWindow window_;
  int rank_, size_;
  std::deque<Collective> queue_;
  std::uint64_t enqueued_ = 0, published_ = 0, reduced_ = 0, collected_ = 0;  ///< chunks
};

/// destination[i] = c_0[i] op c_1[i] op …, in the order of `contributions`; bf16 sums are formed in
/// fp32 and rounded once (to nearest even). `destination` may be one of the contributions, and
/// `copy` (optional) gets the same bits.
void reduce_slices(kernels::DType dtype, ReduceOp op, std::span<const void* const> contributions,
                   void* destination, void* copy, std::int64_t elements);

}  // namespace tenax::comm
