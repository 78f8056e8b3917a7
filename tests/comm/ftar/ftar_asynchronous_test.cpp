// Sums over replicas whose buckets lie in a GPU's memory, which the host cannot read.
#include <algorithm>

#include "comm/ftar/ftar_group.hpp"
#include "kernels/kernels.hpp"
#include "tests/comm/ftar/ftar_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm {
namespace {

using kernels::MemoryKind;

/// A replica's bucket on a device of its own.
class DeviceBucket {
 public:
  explicit DeviceBucket(const std::vector<float>& values)
      : elements_(static_cast<std::int64_t>(values.size())),
        host_(device_->allocate(values.size() * sizeof(float), MemoryKind::pinned_host)),
        in_(device_->allocate(values.size() * sizeof(float))),
        out_(device_->allocate(values.size() * sizeof(float))) {
    std::copy(values.begin(), values.end(), static_cast<float*>(host_->data()));
    device_->kernels().copy(*stream_, tensor(*host_), tensor(*in_));
    stream_->synchronize(soon());
  }
  kernels::Device& device() { return *device_; }
  FtarBucket bucket() { return {.name = {0, 0}, .in = tensor(*in_), .out = tensor(*out_)}; }
  std::vector<float> sum() {
    device_->kernels().copy(*stream_, tensor(*out_), tensor(*host_));
    stream_->synchronize(soon());
    const auto* const begin = static_cast<const float*>(host_->data());
    return {begin, begin + elements_};
  }

 private:
  kernels::Tensor tensor(kernels::Buffer& buffer) const { return buffer.tensor(DType::f32, {elements_}); }

  std::unique_ptr<kernels::Device> device_ = kernels::test::create_stand_in({.jitter_us = 100});
  std::unique_ptr<kernels::Stream> stream_ = device_->create_stream();
  std::int64_t elements_;
  std::unique_ptr<kernels::Buffer> host_, in_, out_;
};

TEST(FtarOnADevice, sums_as_the_host_does) {
  constexpr int kRanks = 3;
  FtarRanks replicas(kRanks);
  for (const WireType wire : {WireType::fp32, WireType::bf16}) {
    const FtarOptions options{
        .chunk_bytes = 4096, .chunks_in_flight = 3, .wire = wire, .deadline_s = 30, .memory = {}};
    std::vector<std::vector<float>> values;
    std::vector<std::unique_ptr<DeviceBucket>> buckets;
    for (int i = 0; i < kRanks; ++i) {
      values.push_back(values_of<float>(i, 40009));
      buckets.push_back(std::make_unique<DeviceBucket>(values.back()));
    }
    FtarRanks::run(replicas.all(), [&](int i) {
      DeviceBucket& mine = *buckets[static_cast<std::size_t>(i)];
      FtarGroup(replicas.ring(1, i, replicas.all()), replicas.transport(i), mine.device(), options)
          .start(mine.bucket())
          ->wait(soon());
    });
    const std::vector<float> expected = sum_of(values, DType::f32, options);
    for (const auto& mine : buckets) EXPECT_EQ(mine->sum(), expected);
  }
}

}  // namespace
}  // namespace tenax::comm
