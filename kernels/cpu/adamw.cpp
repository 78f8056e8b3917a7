#include <cmath>

#include "kernels/adamw_coefficients.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

template <bool copy, class T, class A>
void update(const AdamWCoefficients<A> c, const A decay, A* master, const A* gradient, A* exp_avg,
            A* exp_avg_sq, T* compute, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const A g = gradient[i] * c.gradient_scale;
    const A m = c.beta1 * exp_avg[i] + c.one_minus_beta1 * g;
    const A v = c.beta2 * exp_avg_sq[i] + c.one_minus_beta2 * g * g;
    const A w = decay * master[i] - c.step_size * m / (std::sqrt(v) * c.root_scale + c.epsilon);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    master[i] = w;
    if constexpr (copy) compute[i] = narrow<T>(w);
  }
}

template <bool copy, class T, class A>
void update_stretch(const AdamWStretch& stretch, const AdamWCoefficients<A> coefficients) {
  assert(stretch.gradient.size() == stretch.master.size() && bool(stretch.compute) == copy);
  const A decay = stretch.decays ? coefficients.decay : A(1);
  A *const master = stretch.master.as<A>(), *const exp_avg = stretch.exp_avg.as<A>();
  A* const exp_avg_sq = stretch.exp_avg_sq.as<A>();
  const A* const gradient = stretch.gradient.as<A>();
  T* const compute = copy ? stretch.compute.as<T>() : nullptr;
  for_blocks(stretch.master.size(), kElementBlock, [=](std::int64_t begin, std::int64_t end) {
    update<copy>(coefficients, decay, master + begin, gradient + begin, exp_avg + begin, exp_avg_sq + begin,
                 copy ? compute + begin : nullptr, end - begin);
  });
}

template <bool copy, class T, class A>
void run(const AdamWArgs& args) {
  const AdamWCoefficients<A>& coefficients = *coefficients_in<A>(args.coefficients);
  if (!coefficients.applies) return;
  for (const AdamWStretch& stretch : args.stretches) update_stretch<copy, T>(stretch, coefficients);
}

}  // namespace

void CpuKernels::adamw_coefficients(Stream&, const AdamWCoefficientsArgs& args) {
  if (args.coefficients.dtype == DType::f64)
    *coefficients_in<double>(args.coefficients) = coefficients_of<double>(*args.step);
  else
    *coefficients_in<float>(args.coefficients) = coefficients_of<float>(*args.step);
}

void CpuKernels::adamw(Stream&, const AdamWArgs& args) {
  if (args.stretches.empty()) return;
  const AdamWStretch& first = args.stretches.front();
  if (!first.compute)
    return first.master.dtype == DType::f64 ? run<false, double, double>(args)
                                            : run<false, float, float>(args);
  with_type(first.compute.dtype,
            [&](auto type) { run<true, decltype(type), Accumulator<decltype(type)>>(args); });
}

}  // namespace tenax::kernels
