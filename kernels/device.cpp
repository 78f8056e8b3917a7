#include "kernels/device.hpp"

#include <cassert>

namespace tenax::kernels {

// A caller asks is_asynchronous() or can_capture() first; devices that answer true override.

void Stream::set(Flag&, std::uint32_t) { assert(!"a flag on a stream of a synchronous device"); }
void Stream::wait(const Flag&, std::uint32_t) { assert(!"a flag on a stream of a synchronous device"); }
void Stream::begin_capture() { assert(!"this device captures nothing"); }

std::unique_ptr<Graph> Stream::end_capture() {
  assert(!"this device captures nothing");
  return nullptr;
}

void Stream::launch(Graph&) { assert(!"this device captures nothing"); }

std::unique_ptr<HostRegistration> Device::register_host(std::shared_ptr<std::byte>, std::size_t) {
  return nullptr;
}

std::unique_ptr<Flag> Device::create_flag() {
  assert(!"a flag on a synchronous device");
  return nullptr;
}

Tensor Buffer::tensor(DType dtype, Shape shape, std::size_t byte_offset) const {
  auto* const begin = static_cast<std::byte*>(data());
  const Tensor view{begin ? begin + byte_offset : nullptr, dtype, shape};
  assert(byte_offset % bytes_of(dtype) == 0 && byte_offset + view.bytes() <= bytes());
  return view;
}

}  // namespace tenax::kernels
