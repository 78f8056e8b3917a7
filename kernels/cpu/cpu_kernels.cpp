#include "kernels/cpu/cpu_kernels.hpp"

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/cpu_stream.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/thread_team.hpp"

namespace tenax::kernels {
namespace {

// A stream may have moved to another thread since it was created: the mode belongs to the thread.
CpuStream& enter(Stream& stream) {
  flush_denormals();
  return CpuStream::of(stream);
}

}  // namespace

void CpuKernels::matmul(Stream& stream, const MatmulArgs& args) { enter(stream).matmul().run(args); }

void CpuKernels::attention_forward(Stream& stream, const AttentionForwardArgs& args) {
  enter(stream).attention().forward(args);
}

void CpuKernels::attention_backward(Stream& stream, const AttentionBackwardArgs& args) {
  enter(stream).attention().backward(args);
}

}  // namespace tenax::kernels
