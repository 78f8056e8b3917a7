#include "comm/failover/kept_bytes.hpp"

#include <algorithm>

#include "kernels/kernels.hpp"

namespace tenax::comm {

void KeptPool::stock(std::size_t bytes, int count) {
  if (!device_.has_data() || bytes == 0) return;
  for (int i = 0; i < count; ++i) spare_.push_back(make(bytes));
}

KeptBytes KeptPool::make(std::size_t bytes) { return {device_.allocate(bytes), device_.create_event(), {}}; }

KeptBytes KeptPool::keep(kernels::Stream& stream, const kernels::Tensor& tensor) {
  if (!device_.has_data()) return {};
  const auto fits = std::find_if(spare_.begin(), spare_.end(), [&](const KeptBytes& bytes) {
    return bytes.memory->bytes() >= tensor.bytes();
  });
  KeptBytes kept;
  if (fits != spare_.end()) {
    kept = std::move(*fits);
    spare_.erase(fits);
  } else {
    kept = make(tensor.bytes());
  }
  kept.tensor = kept.memory->tensor(tensor.dtype, tensor.shape);
  device_.kernels().copy(stream, tensor, kept.tensor);
  stream.record(*kept.written);
  return kept;
}

}  // namespace tenax::comm
