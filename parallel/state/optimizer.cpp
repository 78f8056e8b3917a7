#include "parallel/state/optimizer.hpp"

#include "kernels/error.hpp"

namespace tenax::parallel {

using kernels::Kernels;

std::size_t Optimizer::bytes_per_weight(kernels::DType compute) const {
  return moments.size() * bytes_of(kernels::accumulation_of(compute));
}

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> table = {
      {.name = "adamw", .moments = {"exp_avg", "exp_avg_sq"}, .update = &Kernels::adamw},
      {.name = "lion", .moments = {"exp_avg"}, .update = &Kernels::lion},
  };
  return table;
}

const Optimizer& optimizer_of_name(const std::string& name) {
  std::string known;
  for (const Optimizer& optimizer : optimizers()) {
    if (optimizer.name == name) return optimizer;
    known += (known.empty() ? "" : ", ") + optimizer.name;
  }
  throw kernels::Error(kernels::Scope::usage, "unknown optimizer \"" + name + "\": one of " + known);
}

}  // namespace tenax::parallel
