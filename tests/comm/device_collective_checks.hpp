// What a communicator must do for devices whose memory the host cannot read: called for whatever carries it.
#pragma once

#include <gtest/gtest.h>

#include "tests/comm/collective_checks.hpp"
#include "tests/comm/device_values.hpp"

namespace tenax::comm {

/// Where a rank of a test computes.
struct DeviceRank {
  kernels::Device& device;
  Communicator& communicator;
  kernels::Stream& stream;
};

inline std::string described(const Communicator& communicator, std::int64_t elements) {
  return "rank " + std::to_string(communicator.rank()) + " of " + std::to_string(communicator.size()) + ", " +
         std::to_string(elements) + " elements";
}

template <class T>
void expect_device_all_reduce(const DeviceRank& rank, std::int64_t elements, int seed, ReduceOp op) {
  Communicator& group = rank.communicator;
  DeviceValues<T> values(rank.device, rank.stream, contribution<T>(group.rank(), elements, seed));
  group.all_reduce(rank.stream, values.tensor(), op);
  values.fetch(rank.stream);
  expect_same_bits(values.values(rank.stream), reduced<T>(group.size(), elements, seed, op), 0, elements,
                   described(group, elements));
}

/// StartedCollective on a device's memory.
template <class T>
class StartedDeviceCollective {
 public:
  StartedDeviceCollective(StartCollective start, const DeviceRank& rank, std::int64_t piece, int seed)
      : rank_(rank),
        piece_(piece),
        seed_(seed),
        values_(rank.device, rank.stream,
                contribution<T>(rank.communicator.rank(), piece * rank.communicator.size(), seed)),
        transfer((rank.communicator.*start)(rank.stream, values_.tensor())) {}

 protected:
  /// All pieces, once the collective is done.
  std::vector<T> result() {
    transfer->order_before(rank_.stream, kernels::Deadline::after_s(60));
    values_.fetch(rank_.stream);
    return values_.values(rank_.stream);
  }
  /// That piece `index` of `got` is the one of `expected`.
  void expect_piece(const std::vector<T>& got, const std::vector<T>& expected, int index) const {
    expect_same_bits(got, expected, piece_ * index, piece_,
                     described(rank_.communicator, piece_ * rank_.communicator.size()) + ", piece " +
                         std::to_string(index));
  }

  DeviceRank rank_;
  std::int64_t piece_;
  int seed_;
  DeviceValues<T> values_;

 public:
  TransferPtr transfer;
};

template <class T>
class DeviceReduceScatter : public StartedDeviceCollective<T> {
 public:
  DeviceReduceScatter(const DeviceRank& rank, std::int64_t piece, int seed)
      : StartedDeviceCollective<T>(&Communicator::start_reduce_scatter, rank, piece, seed) {}
  void expect_result() {
    const Communicator& group = this->rank_.communicator;
    this->expect_piece(this->result(),
                       reduced<T>(group.size(), this->piece_ * group.size(), this->seed_, ReduceOp::sum),
                       group.rank());
  }
};

template <class T>
class DeviceAllGather : public StartedDeviceCollective<T> {
 public:
  DeviceAllGather(const DeviceRank& rank, std::int64_t piece, int seed)
      : StartedDeviceCollective<T>(&Communicator::start_all_gather, rank, piece, seed) {}
  void expect_result() {
    const std::vector<T> got = this->result();
    const int ranks = this->rank_.communicator.size();
    for (int from = 0; from < ranks; ++from)
      this->expect_piece(got, contribution<T>(from, this->piece_ * ranks, this->seed_), from);
  }
};

template <class T>
void expect_all_device_collectives(const DeviceRank& rank) {
  int seed = 0;
  for (const std::int64_t elements : {0, 1, 3, 1000, 4099, 200003}) {
    expect_device_all_reduce<T>(rank, elements, ++seed, ReduceOp::sum);
    expect_device_all_reduce<T>(rank, elements, ++seed, ReduceOp::max);
    DeviceReduceScatter<T>(rank, elements / 2, ++seed).expect_result();
    DeviceAllGather<T>(rank, elements / 2, ++seed).expect_result();
  }
}

/// More at once than have room in host memory, polled by each rank in an order of its own, with an all_reduce in between.
inline void expect_many_device_collectives(const DeviceRank& rank) {
  std::vector<std::unique_ptr<DeviceReduceScatter<float>>> scatters;
  std::vector<std::unique_ptr<DeviceAllGather<kernels::bf16_t>>> gathers;
  for (int i = 0; i < 7; ++i) {
    scatters.push_back(std::make_unique<DeviceReduceScatter<float>>(rank, 20011 + 1000 * i, 2 * i));
    gathers.push_back(std::make_unique<DeviceAllGather<kernels::bf16_t>>(rank, 7001, 2 * i + 1));
    scatters.front()->transfer->done();
    if (i == 3) expect_device_all_reduce<float>(rank, 9001, 99, ReduceOp::sum);
  }
  for (std::size_t i = 0; i < scatters.size(); ++i) {
    const std::size_t which = (i + static_cast<std::size_t>(rank.communicator.rank())) % scatters.size();
    gathers[which]->expect_result();
    scatters[which]->expect_result();
  }
  rank.communicator.check();
}

}  // namespace tenax::comm
