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

/// A reduce-scatter under way, with what must come out of it.
template <class T>
class CheckedReduceScatter {
 public:
  CheckedReduceScatter(Communicator& communicator, kernels::Stream& stream, std::int64_t piece, int seed)
      : communicator_(communicator),
        piece_(piece),
        seed_(seed),
        values_(contribution<T>(communicator.rank(), piece * communicator.size(), seed)),
        transfer(communicator.start_reduce_scatter(stream, tensor_of(values_))) {}
  void expect_result() const {
    const std::vector<T> expected =
        reduced<T>(communicator_.size(), piece_ * communicator_.size(), seed_, ReduceOp::sum);
    const std::int64_t begin = piece_ * communicator_.rank();
    EXPECT_EQ(first_difference(values_.data() + begin, expected.data() + begin, piece_), -1)
        << "rank " << communicator_.rank() << " of " << communicator_.size() << ", pieces of " << piece_;
  }

 private:
  Communicator& communicator_;
  std::int64_t piece_;
  int seed_;
  std::vector<T> values_;

 public:
  TransferPtr transfer;
};

/// An all-gather under way: piece p of all ranks must be rank p's contribution.
template <class T>
class CheckedAllGather {
 public:
  CheckedAllGather(Communicator& communicator, kernels::Stream& stream, std::int64_t piece, int seed)
      : communicator_(communicator),
        piece_(piece),
        seed_(seed),
        values_(contribution<T>(communicator.rank(), piece * communicator.size(), seed)),
        transfer(communicator.start_all_gather(stream, tensor_of(values_))) {}
  void expect_result() const {
    for (int from = 0; from < communicator_.size(); ++from) {
      const std::vector<T> expected = contribution<T>(from, piece_ * communicator_.size(), seed_);
      EXPECT_EQ(first_difference(values_.data() + piece_ * from, expected.data() + piece_ * from, piece_), -1)
          << "rank " << communicator_.rank() << " of " << communicator_.size() << ", piece " << from << " of "
          << piece_ << " elements";
    }
  }

 private:
  Communicator& communicator_;
  std::int64_t piece_;
  int seed_;
  std::vector<T> values_;

 public:
  TransferPtr transfer;
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
