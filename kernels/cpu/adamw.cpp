#include <cmath>

#include "kernels/adamw_coefficients.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

template <bool copy, class T, class A>
void update(const AdamWCoefficients<A> c, A* master, const A* gradient, A* exp_avg, A* exp_avg_sq, T* compute,
            std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const A g = gradient[i] * c.gradient_scale;
    const A m = c.beta1 * exp_avg[i] + c.one_minus_beta1 * g;
    const A v = c.beta2 * exp_avg_sq[i] + c.one_minus_beta2 * g * g;
    const A w = c.decay * master[i] - c.step_size * m / (std::sqrt(v) * c.root_scale + c.epsilon);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    master[i] = w;
    if constexpr (copy) compute[i] = narrow<T>(w);
  }
}

template <bool copy, class T, class A>
void run(const AdamWArgs& args) {
  const AdamWCoefficients<A> coefficients(args);
  A *const master = args.master.as<A>(), *const exp_avg = args.exp_avg.as<A>();
  A* const exp_avg_sq = args.exp_avg_sq.as<A>();
  const A* const gradient = args.gradient.as<A>();
  T* const compute = copy ? args.compute.as<T>() : nullptr;
  for_blocks(args.master.size(), kElementBlock, [=](std::int64_t begin, std::int64_t end) {
    update<copy>(coefficients, master + begin, gradient + begin, exp_avg + begin, exp_avg_sq + begin,
                 copy ? compute + begin : nullptr, end - begin);
  });
}

}  // namespace

void CpuKernels::adamw(Stream&, const AdamWArgs& args) {
  assert(args.gradient.size() == args.master.size() && args.step >= 1);
  if (!args.compute)
    return args.master.dtype == DType::f64 ? run<false, double, double>(args)
                                           : run<false, float, float>(args);
  with_type(args.compute.dtype,
            [&](auto type) { run<true, decltype(type), Accumulator<decltype(type)>>(args); });
}

}  // namespace tenax::kernels
