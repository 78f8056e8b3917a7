// A tensor in the memory of a device that the host cannot read, and the host's copies of it.
#pragma once

#include <cstring>

#include "kernels/kernels.hpp"
#include "tests/comm/contributions.hpp"

namespace tenax::comm {

/// Nothing here waits but values(): tests see what streams and events put in order.
template <class T>
class DeviceValues {
 public:
  /// Enqueues the upload of `values` on `stream`.
  DeviceValues(kernels::Device& device, kernels::Stream& stream, const std::vector<T>& values)
      : device_(device), elements_(static_cast<std::int64_t>(values.size())) {
    before_ = pinned();
    after_ = pinned();
    memory_ = device.allocate(bytes() + 1);
    if (!values.empty()) std::memcpy(before_->data(), values.data(), bytes());
    device.kernels().copy(stream, of(*before_), tensor());
  }
  kernels::Tensor tensor() const { return of(*memory_); }
  /// Enqueues the download.
  void fetch(kernels::Stream& stream) { device_.kernels().copy(stream, tensor(), of(*after_)); }
  /// Waits for `stream`, which has fetched.
  std::vector<T> values(kernels::Stream& stream) const {
    stream.synchronize(kernels::Deadline::after_s(60));
    const T* const first = static_cast<const T*>(after_->data());
    return {first, first + elements_};
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(elements_) * sizeof(T); }
  std::unique_ptr<kernels::Buffer> pinned() const {
    return device_.allocate(bytes() + 1, kernels::MemoryKind::pinned_host);
  }
  kernels::Tensor of(const kernels::Buffer& buffer) const {
    return buffer.tensor(Element<T>::dtype, {elements_});
  }

  kernels::Device& device_;
  std::int64_t elements_;
  std::unique_ptr<kernels::Buffer> before_, after_, memory_;
};

template <class T>
void expect_same_bits(const std::vector<T>& got, const std::vector<T>& expected, std::int64_t begin,
                      std::int64_t count, const std::string& what) {
  EXPECT_EQ(first_difference(got.data() + begin, expected.data() + begin, count), -1) << what;
}

}  // namespace tenax::comm
