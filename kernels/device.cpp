#include "kernels/device.hpp"

#include <cassert>

namespace tenax::kernels {

// Only devices that say is_asynchronous() or can_capture() are asked, and these override.

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

}  // namespace tenax::kernels
