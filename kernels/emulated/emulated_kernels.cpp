#include "kernels/emulated/emulated_kernels.hpp"

#include <cstring>

#include "kernels/emulated/emulated_stream.hpp"

namespace tenax::kernels {

void EmulatedKernels::copy(Stream& stream, Tensor source, Tensor destination) {
  assert(source.bytes() == destination.bytes());
  assert(dynamic_cast<EmulatedStream*>(&stream) && "a stream belongs to the device of its operations");
  // Memory without an address is the device's.
  const bool from_host = static_cast<bool>(source), to_host = static_cast<bool>(destination);
  if (from_host != to_host) static_cast<EmulatedStream&>(stream).enqueue_in_answer(copy_s_);
  if (from_host && to_host && source.bytes() > 0) std::memmove(destination.data, source.data, source.bytes());
}

}  // namespace tenax::kernels
