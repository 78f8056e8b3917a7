#include "comm/collectives/reduce_scatter.hpp"

#include <algorithm>

#include "comm/collectives/ordered_sum.hpp"

namespace tenax::comm {
namespace {

/// Small enough that a chunk is still in cache when it is added, large enough that messages cost little.
constexpr std::int64_t kChunkBytes = 512 * 1024;

}  // namespace

LinkReduceScatter::LinkReduceScatter(LinkGroup& group, kernels::Stream& stream, const kernels::Tensor& tensor,
                                     ReduceOp op, const char* what, Tag tag)
    : LinkCollective(group, stream, tensor, what, tag),
      op_(op),
      own_(piece(group.rank())),
      chunk_elements_(kChunkBytes / static_cast<std::int64_t>(bytes_of(tensor.dtype))) {
  const std::int64_t largest = std::min(chunk_elements_, own_.size());
  if (largest > 0) {
    scratch_ = group.staging.borrow(ordered_sum_scratch_bytes(tensor.dtype, largest));
    for (Chunk& chunk : chunks_) start_next(chunk);
  }
  start_sends();
}

void LinkReduceScatter::start_sends() {
  for (int step = 1; step < group_.size(); ++step) {
    const kernels::Tensor theirs = piece(peer_at(step));
    for (std::int64_t begin = 0; begin < theirs.size(); begin += chunk_elements_)
      send(peer_at(step), theirs.part(begin, {std::min(chunk_elements_, theirs.size() - begin)}));
  }
}

void LinkReduceScatter::start_next(Chunk& chunk) {
  chunk.begin = next_;
  chunk.count = std::min(chunk_elements_, own_.size() - next_);
  next_ += chunk.count;
  if (chunk.count == 0) return;
  // Padded to a cache line each, so that every contribution is aligned.
  const std::size_t bytes = (static_cast<std::size_t>(chunk.count) * bytes_of(own_.dtype) + 63) / 64 * 64;
  chunk.staging = group_.staging.borrow(bytes * static_cast<std::size_t>(group_.size()));
  chunk.contributions.resize(static_cast<std::size_t>(group_.size()));
  for (int source = 0; source < group_.size(); ++source) {
    kernels::Tensor& contribution = chunk.contributions[static_cast<std::size_t>(source)];
    contribution = source == group_.rank() ? own_.part(chunk.begin, {chunk.count})
                                           : chunk.staging->tensor(own_.dtype, {chunk.count},
                                                                   bytes * static_cast<std::size_t>(source));
    if (source != group_.rank()) chunk.receives.push_back(receive(source, contribution));
  }
}

void LinkReduceScatter::finish(Chunk& chunk) {
  ordered_reduce(group_.device.kernels(), stream_, chunk.contributions, group_.rank(), op_, *scratch_);
  start_next(chunk);
  current_ = (current_ + 1) % chunks_.size();
}

bool LinkReduceScatter::done() {
  while (chunks_[current_].count > 0) {
    if (!all_done(chunks_[current_].receives)) return false;
    finish(chunks_[current_]);
  }
  return sends_done();
}

}  // namespace tenax::comm
