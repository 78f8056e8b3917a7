// The scalars of one AdamW update, as torch.optim.AdamW forms them: in fp64, then rounded once.
#pragma once

#include <cmath>

#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// A: the accumulation type. Of an element with gradient g · gradient_scale and the moments m and v already updated, the
/// new weight is decay · w − step_size · m / (√v · root_scale + epsilon).
template <class A>
struct AdamWCoefficients {
  A gradient_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, step_size, root_scale, epsilon;

  explicit AdamWCoefficients(const AdamWArgs& args)
      : gradient_scale(A(args.gradient_scale)),
        beta1(A(args.beta1)),
        one_minus_beta1(A(1 - args.beta1)),
        beta2(A(args.beta2)),
        one_minus_beta2(A(1 - args.beta2)),
        decay(A(1 - args.learning_rate * args.weight_decay)),
        step_size(A(args.learning_rate / (1 - std::pow(args.beta1, static_cast<double>(args.step))))),
        root_scale(A(1 / std::sqrt(1 - std::pow(args.beta2, static_cast<double>(args.step))))),
        epsilon(A(args.epsilon)) {}
};

}  // namespace tenax::kernels
