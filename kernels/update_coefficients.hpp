// The scalars of an update, as torch.optim.AdamW and torch.nn.utils.clip_grad_norm_ form them: in
// fp64, then rounded once. The host forms those that depend on the step alone (UpdateStep). Whoever
// has the gradient's norm, which may be a GPU, forms those that depend on it (coefficients_of).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// The numbers of one update. Lion uses all but epsilon.
struct UpdateRule {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double tokens = 1;      ///< gradients are sums over so many tokens and are divided by it
  double clip_grad = 0;   ///< what the norm of the divided gradient is clipped to; 0 = no clipping
  std::int64_t step = 1;  ///< 1 for the first update
};

/// A rule in the form that updates need, and the sums that the gradient and the losses contribute.
struct UpdateStep {
  double beta1, one_minus_beta1, beta2, one_minus_beta2, decay;
  double learning_rate, step_size, root_scale, epsilon;
  double tokens, clip_grad;
  std::int64_t step;
  double squares = 0;       ///< Σ g² over the whole model, before the division
  double loss_squares = 0;  ///< Σ loss² over the batch: finite where every loss is

  explicit UpdateStep(const UpdateRule& rule)
      : beta1(rule.beta1),
        one_minus_beta1(1 - rule.beta1),
        beta2(rule.beta2),
        one_minus_beta2(1 - rule.beta2),
        decay(1 - rule.learning_rate * rule.weight_decay),
        learning_rate(rule.learning_rate),
        step_size(rule.learning_rate / (1 - std::pow(rule.beta1, static_cast<double>(rule.step)))),
        root_scale(1 / std::sqrt(1 - std::pow(rule.beta2, static_cast<double>(rule.step)))),
        epsilon(rule.epsilon),
        tokens(rule.tokens),
        clip_grad(rule.clip_grad),
        step(rule.step) {}
};

/// A: the accumulation type. With g = gradient · gradient_scale, and decay = 1 where the parameter does
/// not decay:
///   AdamW  m ← beta1 · m + one_minus_beta1 · g, v ← beta2 · v + one_minus_beta2 · g²,
///          w ← decay · w − step_size · m / (√v · root_scale + epsilon)
///   Lion   w ← decay · w − learning_rate · sign(beta1 · m + one_minus_beta1 · g),
///          m ← beta2 · m + one_minus_beta2 · g
template <class A>
struct UpdateCoefficients {
  A gradient_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, learning_rate, step_size,
      root_scale, epsilon;
  bool applies;       ///< false: a loss or the norm is not finite, and nothing is changed
  std::int64_t step;  ///< draws of stochastic rounding go by it
};

/// What Kernels::update_coefficients writes into its tensor.
template <class A>
UpdateCoefficients<A>* coefficients_in(const Tensor& tensor) {
  static_assert(sizeof(UpdateCoefficients<A>) <= kUpdateCoefficients * sizeof(A));
  assert(tensor.size() >= kUpdateCoefficients);
  return reinterpret_cast<UpdateCoefficients<A>*>(tensor.as<A>());
}

/// Runs on GPUs too.
template <class A>
constexpr UpdateCoefficients<A> coefficients_of(const UpdateStep& s) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double norm = std::sqrt(s.squares) / s.tokens, limit = s.clip_grad / (norm + 1e-6);
  const double clip = s.clip_grad > 0 && limit < 1 ? limit : 1;
  return {A(clip / s.tokens),
          A(s.beta1),
          A(s.one_minus_beta1),
          A(s.beta2),
          A(s.one_minus_beta2),
          A(s.decay),
          A(s.learning_rate),
          A(s.step_size),
          A(s.root_scale),
          A(s.epsilon),
          norm < kInfinity && s.loss_squares < kInfinity,
          s.step};
}

}  // namespace tenax::kernels
