#include "app/machine_rate.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/kernels.hpp"

namespace tenax::app {

using kernels::Deadline;

double measure_matmul_rate(kernels::Device& device, kernels::DType compute) {
  constexpr std::int64_t kSize = 768;
  constexpr double kFlop = 2.0 * kSize * kSize * kSize, kBudget_s = 0.1, kWait_s = 60;
  const auto stream = device.create_stream();
  const auto memory = device.allocate(3 * kSize * kSize * bytes_of(compute));
  kernels::MatmulArgs args;
  args.a = memory->tensor(compute, {kSize, kSize});
  args.b = memory->tensor(compute, {kSize, kSize}, args.a.bytes());
  args.c = memory->tensor(compute, {kSize, kSize}, 2 * args.a.bytes());
  const auto now = [] { return Deadline::Clock::now(); };
  const auto seconds = [](Deadline::Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  device.kernels().matmul(*stream, args);  // warm: the library prepares itself
  double best = 0;
  for (const auto start = now(); seconds(now() - start) < kBudget_s;) {
    const auto begin = now();
    device.kernels().matmul(*stream, args);
    stream->synchronize(Deadline::after_s(kWait_s));
    best = std::max(best, kFlop / seconds(now() - begin));
  }
  return best;
}

}  // namespace tenax::app
