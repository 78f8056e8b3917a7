#include "kernels/cpu/cpu_stream.hpp"

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/thread_team.hpp"

namespace tenax::kernels {

CpuStream::CpuStream(ProductCuts* cuts) : cuts_(cuts) { flush_denormals(); }
CpuStream::~CpuStream() = default;

void CpuStream::record(Event& event) {
  assert(dynamic_cast<CpuEvent*>(&event) && "an event belongs to the device of its stream");
  static_cast<CpuEvent&>(event).record_at(steady_now_s());
}

void CpuStream::use_threads(int threads) {
  assert(threads > 0 && !team_);
  threads_ = threads;
}

ThreadTeam& CpuStream::team() {
  if (!team_) team_ = std::make_unique<ThreadTeam>(threads_);
  return *team_;
}

ThreadTeam& team_of(Stream& stream) {
  thread_local ThreadTeam alone(1);
  auto* const of_cpu = dynamic_cast<CpuStream*>(&stream);
  return of_cpu ? of_cpu->team() : alone;
}

CpuMatmul& CpuStream::matmul() {
  if (!matmul_) matmul_ = std::make_unique<CpuMatmul>(&team(), cuts_);
  return *matmul_;
}

CpuAttention& CpuStream::attention() {
  if (!attention_) attention_ = cpu_loops().create_attention(team());
  return *attention_;
}

}  // namespace tenax::kernels
