#include "parallel/state/offloaded_optimizer.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::parallel {
namespace {

/// One comes, one is updated, one goes, and one more for copies that are not alike.
constexpr std::size_t kSlots = 4;

std::size_t bytes_of_parts(const std::vector<kernels::Tensor>& parts) {
  std::size_t bytes = 0;
  for (const kernels::Tensor& part : parts) bytes += part.bytes();
  return bytes;
}

std::size_t largest(const std::vector<std::vector<kernels::Tensor>>& buckets) {
  std::size_t bytes = 0;
  for (const auto& parts : buckets) bytes = std::max(bytes, bytes_of_parts(parts));
  return bytes;
}

}  // namespace

std::size_t OffloadedOptimizer::device_bytes(std::size_t buckets, std::size_t bucket_bytes) {
  return std::min(buckets, kSlots) * bucket_bytes;
}

OffloadedOptimizer::OffloadedOptimizer(kernels::Device& device, kernels::Stream& stream,
                                       std::vector<std::vector<kernels::Tensor>> home)
    : kernels_(device.kernels()),
      stream_(stream),
      home_(std::move(home)),
      in_(device.create_stream()),
      out_(device.create_stream()),
      memory_(device.allocate(device_bytes(home_.size(), largest(home_)))),
      begun_(device.create_event()),
      slots_(std::min(home_.size(), kSlots)) {
  for (Slot& slot : slots_)
    for (std::unique_ptr<kernels::Event>* const event : {&slot.here, &slot.changed, &slot.home})
      *event = device.create_event();
}

void OffloadedOptimizer::lay_out(Slot& slot, std::size_t bucket) {
  std::size_t offset = static_cast<std::size_t>(&slot - slots_.data()) * largest(home_);
  slot.parts.clear();
  for (const kernels::Tensor& part : home_[bucket]) {
    slot.parts.push_back(memory_->tensor(part.dtype, part.shape, offset));
    offset += part.bytes();
  }
}

// After the bucket that had the slot before is home, if that is of this step.
void OffloadedOptimizer::fetch(std::size_t bucket) {
  Slot& slot = slot_of(bucket);
  in_->wait(bucket < slots_.size() ? *begun_ : *slot.home);
  lay_out(slot, bucket);
  for (std::size_t part = 0; part < slot.parts.size(); ++part)
    kernels_.copy(*in_, home_[bucket][part], slot.parts[part]);
  in_->record(*slot.here);
}

void OffloadedOptimizer::fetch_ahead() {
  stream_.record(*begun_);
  for (std::size_t bucket = 0; bucket < slots_.size(); ++bucket) fetch(bucket);
  is_ahead_ = true;
}

const std::vector<kernels::Tensor>& OffloadedOptimizer::bring(std::size_t bucket) {
  if (bucket == 0 && !is_ahead_) fetch_ahead();
  stream_.wait(*slot_of(bucket).here);
  return slot_of(bucket).parts;
}

void OffloadedOptimizer::take_back(std::size_t bucket) {
  Slot& slot = slot_of(bucket);
  stream_.record(*slot.changed);
  out_->wait(*slot.changed);
  for (std::size_t part = 0; part < slot.parts.size(); ++part)
    kernels_.copy(*out_, slot.parts[part], home_[bucket][part]);
  out_->record(*slot.home);
  if (bucket + slots_.size() < home_.size()) fetch(bucket + slots_.size());
  if (bucket + 1 < home_.size()) return;
  stream_.wait(*slot.home);
  is_ahead_ = false;
}

}  // namespace tenax::parallel
