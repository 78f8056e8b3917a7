// Sums over replicas, through every way that chunks take.
#include "comm/ftar/ftar_group.hpp"

#include <algorithm>
#include <string>

#include "tests/comm/ftar/ftar_ranks.hpp"

namespace tenax::comm {
namespace {

struct Way {
  std::string name;
  TransportKind kind;
  bool shares_memory;
  WireType wire;
  int connections;
};

class FtarGroups : public ::testing::TestWithParam<Way> {
 protected:
  /// Small, so that a few thousand elements make many partitions.
  static FtarOptions options() {
    return {.chunk_bytes = 4096,
            .chunks_in_flight = 3,
            .connections = GetParam().connections,
            .wire = GetParam().wire,
            .deadline_s = 30,
            .memory = {}};
  }
};

/// A bucket of one replica, in memory that neighbours may read or may not.
template <class T>
class OwnBucket {
 public:
  OwnBucket(int replica, std::int64_t elements, int bucket, bool is_shared)
      : dtype_(sizeof(T) == 4 ? DType::f32 : DType::f64),
        values_(values_of<T>(replica, elements, bucket)),
        private_(2 * values_.size()) {
    if (is_shared) area_ = SharedMemory::create(2 * sizeof(T) * values_.size());
    std::copy(values_.begin(), values_.end(), begin());
  }
  void share(FtarOptions& options) const {
    if (area_) options.memory.push_back(area_);
  }
  FtarBucket bucket(std::int64_t step, int number) {
    const auto elements = static_cast<std::int64_t>(values_.size());
    return {.name = {step, number},
            .in = {begin(), dtype_, {elements}},
            .out = {begin() + elements, dtype_, {elements}}};
  }
  std::vector<T> sum() { return {begin() + values_.size(), begin() + 2 * values_.size()}; }
  std::vector<T> in() { return {begin(), begin() + values_.size()}; }
  const std::vector<T>& values() const { return values_; }

 private:
  T* begin() { return area_ ? static_cast<T*>(area_->data()) : private_.data(); }

  DType dtype_;
  std::vector<T> values_, private_;
  std::shared_ptr<SharedMemory> area_;
};

template <class T>
void expect_sums(int ranks, std::int64_t elements, const Way& way, FtarOptions options) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements) + " elements");
  FtarRanks replicas(ranks, way.kind);
  std::vector<std::unique_ptr<OwnBucket<T>>> buckets;
  std::vector<std::vector<T>> values;
  for (int i = 0; i < ranks; ++i) {
    buckets.push_back(std::make_unique<OwnBucket<T>>(i, elements, 0, way.shares_memory));
    values.push_back(buckets.back()->values());
  }
  FtarRanks::run(replicas.all(), [&](int i) {
    OwnBucket<T>& mine = *buckets[static_cast<std::size_t>(i)];
    FtarOptions own = options;
    mine.share(own);
    replicas.group(1, i, replicas.all(), own)->start(mine.bucket(0, 0))->wait(soon());
  });
  const std::vector<T> expected = sum_of(values, sizeof(T) == 4 ? DType::f32 : DType::f64, options);
  for (const auto& mine : buckets) {
    EXPECT_EQ(mine->sum(), expected);
    EXPECT_EQ(mine->in(), mine->values()) << "a replica's own values are not its own any more";
  }
}

TEST_P(FtarGroups, sum_in_the_order_of_the_ring) {
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const std::int64_t elements : {0, 1, 17, 4096, 40009})
      expect_sums<float>(ranks, elements, GetParam(), options());
}

TEST_P(FtarGroups, sum_doubles) {
  for (const int ranks : {2, 3}) expect_sums<double>(ranks, 5003, GetParam(), options());
}

TEST_P(FtarGroups, gather_numbers_of_all_while_they_sum) {
  for (const int ranks : {1, 2, 3, 8}) {
    FtarRanks replicas(ranks, GetParam().kind);
    FtarRanks::run(replicas.all(), [&](int i) {
      const auto group = replicas.group(1, i, replicas.all(), options());
      OwnBucket<float> other(i, 20000, 1, false);
      for (std::int64_t step = 0; step < 5; ++step) {
        std::vector<double> parts(static_cast<std::size_t>(3 * ranks), -1), expected;
        for (int k = 0; k < 3 * ranks; ++k) expected.push_back(1.5 * k + static_cast<double>(step));
        std::copy_n(expected.begin() + 3 * i, 3, parts.begin() + 3 * i);
        const TransferPtr sum = group->start(other.bucket(step, 0));
        group->start_gather({step, 1}, tensor_of(parts, DType::f64))->wait(soon());
        EXPECT_EQ(parts, expected);
        sum->wait(soon());
      }
    });
  }
}

TEST_P(FtarGroups, sum_chunks_larger_than_sockets_and_rings) {
  FtarOptions large = options();
  large.chunk_bytes = std::size_t{6} << 20;
  expect_sums<float>(3, 5000011, GetParam(), large);
}

TEST_P(FtarGroups, sum_buckets_that_replicas_start_in_different_orders) {
  constexpr int kRanks = 4, kBuckets = 6, kSteps = 5;
  FtarRanks replicas(kRanks, GetParam().kind);
  const auto elements = [](int bucket) { return std::int64_t{1} + 1771 * bucket; };
  std::vector<std::vector<std::unique_ptr<OwnBucket<float>>>> buckets(kRanks);
  std::vector<std::vector<float>> expected;
  for (int b = 0; b < kBuckets; ++b) {
    std::vector<std::vector<float>> values;
    for (std::size_t i = 0; i < kRanks; ++i) {
      buckets[i].push_back(
          std::make_unique<OwnBucket<float>>(static_cast<int>(i), elements(b), b, GetParam().shares_memory));
      values.push_back(buckets[i].back()->values());
    }
    expected.push_back(sum_of(values, DType::f32, options()));
  }
  FtarRanks::run(replicas.all(), [&](int i) {
    auto& mine = buckets[static_cast<std::size_t>(i)];
    FtarOptions own = options();
    for (const auto& bucket : mine) bucket->share(own);
    const auto group = replicas.group(7, i, replicas.all(), own);
    std::mt19937 random(static_cast<std::uint32_t>(i));
    std::vector<int> order = {0, 1, 2, 3, 4, 5};
    for (std::int64_t step = 0; step < kSteps; ++step) {
      std::shuffle(order.begin(), order.end(), random);
      std::vector<TransferPtr> transfers;
      for (const int b : order)
        transfers.push_back(group->start(mine[static_cast<std::size_t>(b)]->bucket(step, b)));
      for (const TransferPtr& transfer : transfers) transfer->wait(soon());
      for (std::size_t b = 0; b < kBuckets; ++b)
        ASSERT_EQ(mine[b]->sum(), expected[b]) << "step " << step << ", bucket " << b;
    }
  });
}

TEST_P(FtarGroups, may_be_left_by_those_who_are_done) {
  FtarRanks replicas(3, GetParam().kind);
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch)
    FtarRanks::run(replicas.all(), [&](int i) {
      OwnBucket<float> mine(i, 3001, 0, GetParam().shares_memory);
      FtarOptions own = options();
      mine.share(own);
      const auto group = replicas.group(epoch, i, replicas.all(), own);
      group->start(mine.bucket(epoch, 0))->wait(soon());
    });
}

INSTANTIATE_TEST_SUITE_P(
    Ways, FtarGroups,
    ::testing::Values(Way{"tcp", TransportKind::tcp, false, WireType::fp32, 1},
                      Way{"tcp_of_three_connections", TransportKind::tcp, false, WireType::fp32, 3},
                      Way{"tcp_with_bf16", TransportKind::tcp, false, WireType::bf16, 1},
                      Way{"rings", TransportKind::shared_memory, false, WireType::fp32, 2},
                      Way{"rings_with_bf16", TransportKind::shared_memory, false, WireType::bf16, 1},
                      Way{"shared_memory", TransportKind::shared_memory, true, WireType::fp32, 1},
                      Way{"shared_memory_with_bf16", TransportKind::shared_memory, true, WireType::bf16, 2}),
    [](const auto& way) { return way.param.name; });

TEST(FtarGroup, sums_of_two_are_those_of_two_numbers) {
  FtarRanks replicas(2);
  std::vector<std::vector<float>> in = {values_of<float>(0, 1009), values_of<float>(1, 1009)}, out(2, in[0]);
  FtarRanks::run(replicas.all(), [&](int i) {
    const auto mine = static_cast<std::size_t>(i);
    replicas.group(1, i, replicas.all())
        ->start({.name = {}, .in = tensor_of(in[mine], DType::f32), .out = tensor_of(out[mine], DType::f32)})
        ->wait(soon());
  });
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    ASSERT_EQ(out[0][i], in[0][i] + in[1][i]);
    ASSERT_EQ(out[1][i], in[0][i] + in[1][i]);
  }
}

TEST(FtarGroup, connects_a_dozen_at_once) {
  FtarRanks replicas(12, TransportKind::automatic);
  std::atomic<double> slowest_s = 0;
  FtarRanks::run(replicas.all(), [&](int i) {
    const double began_s = kernels::steady_now_s();
    std::vector<double> in = {1.0}, out = {0.0};
    replicas.group(1, i, replicas.all())
        ->start({.name = {}, .in = tensor_of(in, DType::f64), .out = tensor_of(out, DType::f64)})
        ->wait(soon());
    EXPECT_EQ(out[0], 12.0);
    slowest_s = std::max(slowest_s.load(), kernels::steady_now_s() - began_s);
  });
  std::printf("connected, and summed one number, in %.1f ms\n", 1e3 * slowest_s.load());
}

TEST(FtarGroup, takes_the_time_of_its_link_on_a_device_without_data) {
  constexpr std::int64_t kElements = 10000000;
  FtarRanks replicas(3);
  FtarRanks::run(replicas.all(), [&](int i) {
    const auto group = replicas.group(1, i, replicas.all(), {.memory = {}, .link_gbps = 1});
    const kernels::Tensor none{nullptr, DType::f32, {kElements}};
    group->start({.name = {0, 0}, .in = {nullptr, DType::f32, {16}}, .out = {nullptr, DType::f32, {16}}})
        ->wait(soon());
    double least_s = 1e9;
    for (const int bucket : {1, 2, 3}) {
      const double began_s = kernels::steady_now_s();
      group->start({.name = {0, bucket}, .in = none, .out = none})->wait(soon());
      least_s = std::min(least_s, kernels::steady_now_s() - began_s);
    }
    const double expected_s = 4.0 / 3 * kElements * 4 * 8 / 1e9;
    EXPECT_GE(least_s, 0.99 * expected_s);
    EXPECT_LT(least_s, 2 * expected_s) << "chunks do not overlap";
  });
}

// Of three replicas one comes late: the others wait, and their links are as fast as ever.
TEST(FtarTransfers, are_timed_without_the_wait_for_others) {
  constexpr double kLate_s = 0.5;
  FtarRanks ranks(3);
  FtarRanks::run(ranks.all(), [&](int index) {
    const auto group = ranks.group(1, index, ranks.all());
    EXPECT_EQ(group->take_transfers().mean_s(), 0);
    OwnBucket<float> own(index, 10000, 0, false);
    if (index == 1) kernels::sleep_until_s(kernels::steady_now_s() + kLate_s);
    const double begin_s = kernels::steady_now_s();
    group->start(own.bucket(1, 0))->wait(soon());
    if (index != 1) {
      EXPECT_GT(kernels::steady_now_s() - begin_s, kLate_s / 2);
    }
    LinkTransfers transfers;
    for (const Deadline deadline = soon(); transfers.buckets == 0 && !deadline.expired();)
      transfers = group->take_transfers();
    EXPECT_EQ(transfers.buckets, 1);
    EXPECT_GT(transfers.mean_s(), 0);
    EXPECT_LT(transfers.mean_s(), kLate_s / 2);
  });
}

}  // namespace
}  // namespace tenax::comm
