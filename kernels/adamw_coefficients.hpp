// The scalars of an AdamW update, as torch.optim.AdamW and torch.nn.utils.clip_grad_norm_ form them: in fp64,
// then rounded once. What depends on the step alone is formed by the host (AdamWStep), what depends on the
// gradient by whoever has its norm, which may be a GPU (coefficients_of).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// What an update is made by.
struct AdamWRule {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double tokens = 1;      ///< gradients are sums over so many tokens and are divided by it
  double clip_grad = 0;   ///< what the norm of the divided gradient is clipped to; 0 = no clipping
  std::int64_t step = 1;  ///< 1 for the first update
};

/// A rule's numbers for one update, and what the gradient says of it.
struct AdamWStep {
  double beta1, one_minus_beta1, beta2, one_minus_beta2, decay, step_size, root_scale, epsilon;
  double tokens, clip_grad;
  std::int64_t step;
  double squares = 0;       ///< Σ g² over the whole model, before the division
  double loss_squares = 0;  ///< Σ loss² over the batch: finite where every loss is

  explicit AdamWStep(const AdamWRule& rule)
      : beta1(rule.beta1),
        one_minus_beta1(1 - rule.beta1),
        beta2(rule.beta2),
        one_minus_beta2(1 - rule.beta2),
        decay(1 - rule.learning_rate * rule.weight_decay),
        step_size(rule.learning_rate / (1 - std::pow(rule.beta1, static_cast<double>(rule.step)))),
        root_scale(1 / std::sqrt(1 - std::pow(rule.beta2, static_cast<double>(rule.step)))),
        epsilon(rule.epsilon),
        tokens(rule.tokens),
        clip_grad(rule.clip_grad),
        step(rule.step) {}
};

/// A: the accumulation type. Of an element with gradient g · gradient_scale and the moments m and v already
/// updated, the new weight is decay · w − step_size · m / (√v · root_scale + epsilon), with decay = 1 where the
/// parameter does not decay.
template <class A>
struct AdamWCoefficients {
  A gradient_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, step_size, root_scale, epsilon;
  bool applies;       ///< false: a loss or the norm is not finite, and nothing is changed
  std::int64_t step;  ///< draws of stochastic rounding go by it
};

/// What Kernels::adamw_coefficients writes into its tensor.
template <class A>
AdamWCoefficients<A>* coefficients_in(const Tensor& tensor) {
  static_assert(sizeof(AdamWCoefficients<A>) <= kAdamWCoefficients * sizeof(A));
  assert(tensor.size() >= kAdamWCoefficients);
  return reinterpret_cast<AdamWCoefficients<A>*>(tensor.as<A>());
}

/// Runs on GPUs too.
template <class A>
constexpr AdamWCoefficients<A> coefficients_of(const AdamWStep& s) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double norm = std::sqrt(s.squares) / s.tokens, limit = s.clip_grad / (norm + 1e-6);
  const double clip = s.clip_grad > 0 && limit < 1 ? limit : 1;
  return {A(clip / s.tokens),
          A(s.beta1),
          A(s.one_minus_beta1),
          A(s.beta2),
          A(s.one_minus_beta2),
          A(s.decay),
          A(s.step_size),
          A(s.root_scale),
          A(s.epsilon),
          norm < kInfinity && s.loss_squares < kInfinity,
          s.step};
}

}  // namespace tenax::kernels
