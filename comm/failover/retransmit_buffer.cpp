#include "comm/failover/retransmit_buffer.hpp"

#include "comm/host_staging.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

void RetransmitPool::stock(std::size_t bytes, int count) {
  if (!device_.has_data() || bytes == 0) return;
  for (int i = 0; i < count; ++i) spare_.push_back(make(bytes));
}

RetransmitBuffer RetransmitPool::make(std::size_t bytes) {
  return {device_.allocate(bytes), device_.create_event(), {}};
}

RetransmitBuffer RetransmitPool::keep(kernels::Stream& stream, const kernels::Tensor& tensor) {
  if (!device_.has_data()) return {};
  const auto bytes_of = [](const RetransmitBuffer& bytes) { return bytes.memory->bytes(); };
  auto spare = take_best_fit(spare_, tensor.bytes(), bytes_of);
  RetransmitBuffer retransmit = spare ? std::move(*spare) : make(tensor.bytes());
  retransmit.tensor = retransmit.memory->tensor(tensor.dtype, tensor.shape);
  device_.kernels().copy(stream, tensor, retransmit.tensor);
  stream.record(*retransmit.written);
  return retransmit;
}

}  // namespace tenax::comm
