// Reduce-scatter by direct exchange: every rank sends piece p to rank p and adds up what it
// receives for its own piece, in rank order. Each byte crosses a link once, as in a ring, and the
// order of the sum is fixed.
#pragma once

#include <array>
#include <memory>

#include "comm/collectives/link_collective.hpp"

namespace tenax::comm {

/// All sends start at once (their data is there); receives go through two chunks of staging memory,
/// so that one chunk is added while the next arrives. `tensor` may have any size: pieces then
/// differ by one element.
class LinkReduceScatter final : public LinkCollective {
 public:
  LinkReduceScatter(LinkGroup& group, kernels::Stream& stream, const kernels::Tensor& tensor, ReduceOp op,
                    const char* what, Tag tag);
  bool done() override;

 private:
  struct Chunk {
    std::int64_t begin = 0, count = 0;  ///< elements of the own piece; count 0: idle
    StagingPool::Loan staging;
    std::vector<kernels::Tensor> contributions;
    std::vector<Message> receives;
  };

  void start_sends();
  void start_next(Chunk& chunk);
  void finish(Chunk& chunk);
  const std::vector<Message>& awaited() const override { return chunks_[current_].receives; }

  ReduceOp op_;
  kernels::Tensor own_;
  std::int64_t chunk_elements_;
  std::int64_t next_ = 0;  ///< first element of the own piece that no chunk has taken yet
  std::array<Chunk, 2> chunks_;
  std::size_t current_ = 0;  ///< the chunk that is added next
  StagingPool::Loan scratch_;
};

}  // namespace tenax::comm
