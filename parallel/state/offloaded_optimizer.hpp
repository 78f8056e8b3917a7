// OffloadedOptimizer: master weights and moments whose home is pinned host memory, on their way to the device and back, bucket
// by bucket (FT-HSDP, section 5: behind the backward pass and the update).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/kernels.hpp"

namespace tenax::parallel {

/// The device has room for a few buckets. The first ones come while the backward pass runs; each later one when one before it
/// has gone home, while others are updated. Copies run on two streams of their own, one each way. Thread rule: the stream's.
class OffloadedOptimizer {
 public:
  /// `home`: of each bucket its parts (moments, masters) in pinned host memory, one-dimensional, of one type. All must outlive
  /// this. `stream` is where updates run.
  OffloadedOptimizer(kernels::Device& device, kernels::Stream& stream,
                     std::vector<std::vector<kernels::Tensor>> home);

  /// What that takes of the device, where no bucket's parts together take more than `bucket_bytes`.
  static std::size_t device_bytes(std::size_t buckets, std::size_t bucket_bytes);

  /// Optional, once before the updates of a step: enqueues that the first buckets come as soon as the stream gets here.
  void fetch_ahead();
  /// Others than it has fetched are home now: they come again for the next update.
  void forget_ahead() { is_ahead_ = false; }
  /// The buckets come in order, each to be taken back before the next. Enqueued: what the stream runs from here on finds the
  /// bucket's parts in the tensors.
  const std::vector<kernels::Tensor>& bring(std::size_t bucket);
  /// Enqueued: what the stream has left in those tensors goes home. After the last bucket the stream waits until all are home.
  void take_back(std::size_t bucket);

 private:
  struct Slot {
    std::vector<kernels::Tensor> parts;
    std::unique_ptr<kernels::Event> here, changed, home;
  };
  Slot& slot_of(std::size_t bucket) { return slots_[bucket % slots_.size()]; }
  void fetch(std::size_t bucket);
  void lay_out(Slot& slot, std::size_t bucket);

  kernels::Kernels& kernels_;
  kernels::Stream& stream_;
  const std::vector<std::vector<kernels::Tensor>> home_;
  std::unique_ptr<kernels::Stream> in_, out_;
  std::unique_ptr<kernels::Buffer> memory_;
  std::unique_ptr<kernels::Event> begun_;
  std::vector<Slot> slots_;
  bool is_ahead_ = false;
};

}  // namespace tenax::parallel
