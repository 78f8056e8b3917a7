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
    for (Slot& slot : slots_) start_next(slot);
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

void LinkReduceScatter::start_next(Slot& slot) {
  slot.begin = next_;
  slot.count = std::min(chunk_elements_, own_.size() - next_);
  next_ += slot.count;
  if (slot.count == 0) return;
  // Padded to a cache line each, so that every contribution is aligned.
  const std::size_t bytes = (static_cast<std::size_t>(slot.count) * bytes_of(own_.dtype) + 63) / 64 * 64;
  slot.staging = group_.staging.borrow(bytes * static_cast<std::size_t>(group_.size()));
  slot.contributions.resize(static_cast<std::size_t>(group_.size()));
  for (int source = 0; source < group_.size(); ++source) {
    kernels::Tensor& contribution = slot.contributions[static_cast<std::size_t>(source)];
    contribution = source == group_.rank() ? own_.part(slot.begin, {slot.count})
                                           : slot.staging->tensor(own_.dtype, {slot.count},
                                                                  bytes * static_cast<std::size_t>(source));
    if (source != group_.rank()) slot.receives.push_back(receive(source, contribution));
  }
}

void LinkReduceScatter::finish(Slot& slot) {
  ordered_reduce(group_.device.kernels(), stream_, slot.contributions, group_.rank(), op_, *scratch_);
  start_next(slot);
  current_ = (current_ + 1) % slots_.size();
}

bool LinkReduceScatter::done() {
  while (slots_[current_].count > 0) {
    if (!all_done(slots_[current_].receives)) return false;
    finish(slots_[current_]);
  }
  return sends_done();
}

}  // namespace tenax::comm
