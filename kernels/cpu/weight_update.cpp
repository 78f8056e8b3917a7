#include <cmath>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/parallel_blocks.hpp"
#include "kernels/update_coefficients.hpp"

namespace tenax::kernels {
namespace {

struct AdamW {
  static constexpr int kMoments = 2;

  template <bool copy, class T, class A>
  static void update(const UpdateCoefficients<A> c, const A decay, A* master, const A* gradient,
                     A* const (&moments)[kMoments], T* compute, std::int64_t count) {
    A *const exp_avg = moments[0], *const exp_avg_sq = moments[1];
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
};

struct Lion {
  static constexpr int kMoments = 1;

  template <bool copy, class T, class A>
  static void update(const UpdateCoefficients<A> c, const A decay, A* master, const A* gradient,
                     A* const (&moments)[kMoments], T* compute, std::int64_t count) {
    A* const exp_avg = moments[0];
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const A g = gradient[i] * c.gradient_scale;
      const A direction = c.beta1 * exp_avg[i] + c.one_minus_beta1 * g;
      const A move = direction > 0 ? c.learning_rate : direction < 0 ? -c.learning_rate : A(0);
      const A w = decay * master[i] - move;
      exp_avg[i] = c.beta2 * exp_avg[i] + c.one_minus_beta2 * g;
      master[i] = w;
      if constexpr (copy) compute[i] = narrow<T>(w);
    }
  }
};

template <class Rule, bool copy, class T, class A>
void update_stretch(Stream& stream, const UpdateStretch& stretch, const UpdateCoefficients<A> coefficients) {
  assert(stretch.gradient.size() == stretch.master.size() && bool(stretch.compute) == copy);
  const A decay = stretch.decays ? coefficients.decay : A(1);
  A* const master = stretch.master.as<A>();
  const A* const gradient = stretch.gradient.as<A>();
  T* const compute = copy ? stretch.compute.as<T>() : nullptr;
  for_blocks(stream, stretch.master.size(), kElementBlock,
             [=, &stretch](std::int64_t begin, std::int64_t end) {
               A* moments[Rule::kMoments];
               for (std::size_t i = 0; i < Rule::kMoments; ++i)
                 moments[i] = stretch.moments[i].as<A>() + begin;
               Rule::template update<copy>(coefficients, decay, master + begin, gradient + begin, moments,
                                           copy ? compute + begin : nullptr, end - begin);
             });
}

template <class Rule, bool copy, class T, class A>
void update_all(Stream& stream, const UpdateArgs& args) {
  const UpdateCoefficients<A>& coefficients = *coefficients_in<A>(args.coefficients);
  if (!coefficients.applies) return;
  for (const UpdateStretch& stretch : args.stretches)
    update_stretch<Rule, copy, T>(stream, stretch, coefficients);
}

template <class Rule>
void update(Stream& stream, const UpdateArgs& args) {
  if (args.stretches.empty()) return;
  const UpdateStretch& first = args.stretches.front();
  if (!first.compute)
    return first.master.dtype == DType::f64 ? update_all<Rule, false, double, double>(stream, args)
                                            : update_all<Rule, false, float, float>(stream, args);
  with_type(first.compute.dtype, [&](auto type) {
    update_all<Rule, true, decltype(type), Accumulator<decltype(type)>>(stream, args);
  });
}

}  // namespace

void CpuKernels::update_coefficients(Stream&, const UpdateCoefficientsArgs& args) {
  if (args.coefficients.dtype == DType::f64)
    *coefficients_in<double>(args.coefficients) = coefficients_of<double>(*args.step);
  else
    *coefficients_in<float>(args.coefficients) = coefficients_of<float>(*args.step);
}

void CpuKernels::adamw(Stream& stream, const UpdateArgs& args) { update<AdamW>(stream, args); }

void CpuKernels::lion(Stream& stream, const UpdateArgs& args) { update<Lion>(stream, args); }

}  // namespace tenax::kernels
