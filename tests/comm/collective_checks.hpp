// What every communicator must do, whatever carries it: called by the tests on threads and under mpirun.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/comm/contributions.hpp"

namespace tenax::comm {

/// 0, 1, odd, below and above the chunk sizes of both implementations.
inline const std::vector<std::int64_t> kElements = {0, 1, 2, 3, 7, 1000, 4099, 20011, 200003, 700001};

template <class T>
void expect_all_reduce(Communicator& communicator, kernels::Stream& stream, std::int64_t elements, int seed,
                       ReduceOp op) {
  std::vector<T> values = contribution<T>(communicator.rank(), elements, seed);
  communicator.all_reduce(stream, tensor_of(values), op);
  const std::vector<T> expected = reduced<T>(communicator.size(), elements, seed, op);
  EXPECT_EQ(first_difference(values.data(), expected.data(), elements), -1)
      << "rank " << communicator.rank() << " of " << communicator.size() << ", " << elements << " elements";
}

/// Starts Communicator's collective on a tensor of pieces, one for each rank.
using StartCollective = TransferPtr (Communicator::*)(kernels::Stream& stream, const kernels::Tensor& tensor);

/// A collective under way on this rank's contribution: `piece` elements for each rank.
template <class T>
class StartedCollective {
 public:
  StartedCollective(StartCollective start, Communicator& communicator, kernels::Stream& stream,
                    std::int64_t piece, int seed)
      : communicator_(communicator),
        piece_(piece),
        seed_(seed),
        values_(contribution<T>(communicator.rank(), piece * communicator.size(), seed)),
        transfer((communicator.*start)(stream, tensor_of(values_))) {}

 protected:
  /// That piece `index` is the one of `expected`.
  void expect_piece(const std::vector<T>& expected, int index) const {
    const std::int64_t begin = piece_ * index;
    EXPECT_EQ(first_difference(values_.data() + begin, expected.data() + begin, piece_), -1)
        << "rank " << communicator_.rank() << " of " << communicator_.size() << ", piece " << index << " of "
        << piece_ << " elements";
  }

  Communicator& communicator_;
  std::int64_t piece_;
  int seed_;
  std::vector<T> values_;

 public:
  TransferPtr transfer;
};

/// This rank's piece must become the sum of all ranks'.
template <class T>
class CheckedReduceScatter : public StartedCollective<T> {
 public:
  CheckedReduceScatter(Communicator& communicator, kernels::Stream& stream, std::int64_t piece, int seed)
      : StartedCollective<T>(&Communicator::start_reduce_scatter, communicator, stream, piece, seed) {}
  void expect_result() const {
    const int ranks = this->communicator_.size();
    this->expect_piece(reduced<T>(ranks, this->piece_ * ranks, this->seed_, ReduceOp::sum),
                       this->communicator_.rank());
  }
};

/// Piece p of all ranks must become rank p's contribution.
template <class T>
class CheckedAllGather : public StartedCollective<T> {
 public:
  CheckedAllGather(Communicator& communicator, kernels::Stream& stream, std::int64_t piece, int seed)
      : StartedCollective<T>(&Communicator::start_all_gather, communicator, stream, piece, seed) {}
  void expect_result() const {
    const int ranks = this->communicator_.size();
    for (int from = 0; from < ranks; ++from)
      this->expect_piece(contribution<T>(from, this->piece_ * ranks, this->seed_), from);
  }
};

template <class T>
void expect_all_collectives(Communicator& communicator, kernels::Stream& stream) {
  const auto deadline = kernels::Deadline::after_s(60);
  int seed = 0;
  for (const std::int64_t elements : kElements) {
    expect_all_reduce<T>(communicator, stream, elements, ++seed, ReduceOp::sum);
    expect_all_reduce<T>(communicator, stream, elements, ++seed, ReduceOp::max);
    CheckedReduceScatter<T> scatter(communicator, stream, elements / 2, ++seed);
    scatter.transfer->wait(deadline);
    scatter.expect_result();
    CheckedAllGather<T> gather(communicator, stream, elements / 2, ++seed);
    gather.transfer->wait(deadline);
    gather.expect_result();
  }
}

/// Five collectives under way at once, polled by each rank in an order of its own, with an all-reduce in
/// between.
inline void expect_outstanding_collectives(Communicator& communicator, kernels::Stream& stream) {
  const auto deadline = kernels::Deadline::after_s(60);
  CheckedReduceScatter<float> a(communicator, stream, 300007, 1);
  CheckedAllGather<float> b(communicator, stream, 150001, 2);
  CheckedReduceScatter<kernels::bf16_t> c(communicator, stream, 70001, 3);
  expect_all_reduce<float>(communicator, stream, 9001, 4, ReduceOp::sum);
  CheckedAllGather<double> d(communicator, stream, 5, 5);
  CheckedReduceScatter<float> e(communicator, stream, 1, 6);
  const std::vector<Transfer*> transfers = {a.transfer.get(), b.transfer.get(), c.transfer.get(),
                                            d.transfer.get(), e.transfer.get()};
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const std::size_t start = i + static_cast<std::size_t>(communicator.rank());
    transfers[start % transfers.size()]->done();
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const std::size_t start = i + static_cast<std::size_t>(communicator.rank());
    transfers[start % transfers.size()]->wait(deadline);
  }
  a.expect_result();
  b.expect_result();
  c.expect_result();
  d.expect_result();
  e.expect_result();
}

}  // namespace tenax::comm
