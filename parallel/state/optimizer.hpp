// Optimizer: one way to change weights by their gradients, with the name that decks use. A new one
// is an operation of kernels/kernels.hpp in each back end, a row in optimizer.cpp, and its word in
// io/deck/choice.
//
// The state is cut anywhere and spread over the data ranks (ZeRO-1). So an optimizer works element
// by element.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace tenax::parallel {

struct Optimizer {
  std::string name;
  /// Names of the moments, as checkpoints use them; at most kernels::kMaxMoments. A moment has an
  /// element of the accumulation type for each weight, and begins at zero.
  std::vector<std::string> moments;
  /// The operation that updates weights and moments. UpdateStretch has the moments in this order.
  void (kernels::Kernels::*update)(kernels::Stream&, const kernels::UpdateArgs&);

  /// Bytes of the moments of one weight.
  std::size_t bytes_per_weight(kernels::DType compute) const;
};

const std::vector<Optimizer>& optimizers();
/// Throws Error(usage) for a name of none.
const Optimizer& optimizer_of_name(const std::string& name);

}  // namespace tenax::parallel
