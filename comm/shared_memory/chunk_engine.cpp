#include "comm/shared_memory/chunk_engine.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "comm/collectives/link_collective.hpp"

namespace tenax::comm {
namespace {

using kernels::Tensor;

/// Up to here every rank sums everything: one meeting of the ranks fewer, and more memory read.
constexpr std::size_t kWholeBytes = 16 * 1024;

void copy_bytes(void* destination, const void* source, std::size_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, bytes);
}

}  // namespace

std::uint64_t ChunkEngine::enqueue(Kind kind, const Tensor& tensor, ReduceOp op) {
  Collective next{.tensor = tensor, .op = op};
  next.reduces = kind != Kind::all_gather;
  next.gathers = kind != Kind::reduce_scatter;
  const std::size_t row_bytes = ChunkWindow::block_bytes(size_) * static_cast<std::size_t>(size_);
  next.whole = kind == Kind::all_reduce && tensor.bytes() <= std::min(kWholeBytes, row_bytes);
  next.chunk_elements = static_cast<std::int64_t>(ChunkWindow::block_bytes(size_) / bytes_of(tensor.dtype));
  const std::int64_t longest_piece = (tensor.size() + size_ - 1) / size_;
  const std::int64_t chunks = (longest_piece + next.chunk_elements - 1) / next.chunk_elements;
  next.begin = enqueued_;
  next.end = enqueued_ += next.whole ? 1 : static_cast<std::uint64_t>(chunks);
  queue_.push_back(next);
  return next.end;
}

/// Publishing comes first: the other ranks wait for it.
bool ChunkEngine::step() { return try_publish() || try_reduce() || try_collect(); }

const ChunkEngine::Collective& ChunkEngine::collective_of(std::uint64_t chunk) const {
  const auto found =
      std::find_if(queue_.begin(), queue_.end(), [&](const Collective& c) { return chunk < c.end; });
  assert(found != queue_.end() && chunk >= found->begin);
  return *found;
}

Tensor ChunkEngine::slice(const Collective& collective, std::uint64_t chunk, int piece) const {
  const std::int64_t elements = collective.tensor.size();
  const std::int64_t piece_end = piece_begin(elements, piece + 1, size_);
  const std::int64_t begin = std::min(
      piece_end, piece_begin(elements, piece, size_) +
                     static_cast<std::int64_t>(chunk - collective.begin) * collective.chunk_elements);
  return collective.tensor.part(begin, {std::min(collective.chunk_elements, piece_end - begin)});
}

bool ChunkEngine::is_reached_by_all(std::atomic<std::uint64_t> RankProgress::*stage,
                                    std::uint64_t chunks) const {
  for (int peer = 0; peer < size_; ++peer)
    if ((window_.progress(peer).*stage).load(std::memory_order_acquire) < chunks) return false;
  return true;
}

bool ChunkEngine::buffer_is_free() const {
  return published_ < ChunkWindow::kBuffers ||
         is_reached_by_all(&RankProgress::collected, published_ - ChunkWindow::kBuffers + 1);
}

bool ChunkEngine::try_publish() {
  if (published_ == enqueued_ || !buffer_is_free()) return false;
  const std::uint64_t chunk = published_;
  const Collective& collective = collective_of(chunk);
  const auto publish = [&](int to) {
    const Tensor part = slice(collective, chunk, to);
    copy_bytes(window_.block(chunk, rank_, to), part.data, part.bytes());
  };
  if (collective.whole) {
    copy_bytes(window_.block(chunk, rank_, 0), collective.tensor.data, collective.tensor.bytes());
  } else if (collective.reduces) {
    for (int to = 0; to < size_; ++to)
      if (to != rank_) publish(to);
  } else {
    publish(rank_);
  }
  window_.progress(rank_).published.store(++published_, std::memory_order_release);
  return true;
}

bool ChunkEngine::try_reduce() {
  if (reduced_ == published_) return false;
  const Collective& collective = collective_of(reduced_);
  if (collective.reduces) {
    if (!is_reached_by_all(&RankProgress::published, reduced_ + 1)) return false;
    reduce_own(collective, reduced_);
  }
  window_.progress(rank_).reduced.store(++reduced_, std::memory_order_release);
  return true;
}

/// The own contribution is read where it is, in the tensor, and the sum overwrites it there; other ranks get
/// theirs through the window.
void ChunkEngine::reduce_own(const Collective& collective, std::uint64_t chunk) const {
  const Tensor own = collective.whole ? collective.tensor : slice(collective, chunk, rank_);
  std::vector<const void*> contributions;
  for (int from = 0; from < size_; ++from)
    contributions.push_back(from == rank_ ? own.data
                                          : window_.block(chunk, from, collective.whole ? 0 : rank_));
  void* result = collective.gathers && !collective.whole ? window_.block(chunk, rank_, rank_) : nullptr;
  reduce_slices(own.dtype, collective.op, contributions, own.data, result, own.size());
}

bool ChunkEngine::try_collect() {
  if (collected_ == reduced_) return false;
  const Collective& collective = collective_of(collected_);
  if (collective.gathers && !collective.whole) {
    if (!is_reached_by_all(&RankProgress::reduced, collected_ + 1)) return false;
    for (int from = 0; from < size_; ++from) {
      if (from == rank_) continue;
      const Tensor part = slice(collective, collected_, from);
      copy_bytes(part.data, window_.block(collected_, from, from), part.bytes());
    }
  }
  window_.progress(rank_).collected.store(++collected_, std::memory_order_release);
  if (collected_ == queue_.front().end) queue_.pop_front();
  return true;
}

/// Ranks that wait for a late one are late themselves: those are named that have published least.
std::vector<int> ChunkEngine::late_ranks() const {
  std::vector<int> late;
  std::uint64_t least = UINT64_MAX;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || !is_late(window_.progress(peer))) continue;
    const std::uint64_t published = window_.progress(peer).published;
    if (published < least) late.clear();
    if (published <= least) late.push_back(peer);
    least = std::min(least, published);
  }
  return late;
}

bool ChunkEngine::is_late(const RankProgress& peer) const {
  const bool keeps_buffer = published_ < enqueued_ && peer.collected + ChunkWindow::kBuffers <= published_;
  return keeps_buffer || (reduced_ < published_ && peer.published <= reduced_) ||
         (collected_ < reduced_ && peer.reduced <= collected_);
}

}  // namespace tenax::comm
