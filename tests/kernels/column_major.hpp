// What a column-major library does with a MatmulPlan, in plain loops: how plans are checked without a GPU.
#pragma once

#include <cmath>

#include "kernels/cpu/element.hpp"
#include "kernels/cuda/matmul_body.hpp"
#include "kernels/cuda/matmul_plan.hpp"

namespace tenax::kernels::cuda::test {

/// Elements of memory of any floating type, as doubles.
struct Elements {
  double operator[](std::int64_t i) const {
    double value = 0;
    with_type(dtype, [&](auto type) { value = widen(static_cast<const decltype(type)*>(data)[i]); });
    return value;
  }
  void set(std::int64_t i, double value) const {
    with_type(dtype, [&](auto type) {
      using T = decltype(type);
      static_cast<T*>(const_cast<void*>(data))[i] = narrow<T>(static_cast<Accumulator<T>>(value));
    });
  }
  const void* data;
  DType dtype;
};

inline double gelu(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
inline double gelu_slope(double x) {
  const double step = 1e-5;
  return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

inline void run_column_major(const MatmulPlan& plan, const MatmulOperands& operands) {
  const Elements a{operands.a, plan.input}, b{operands.b, plan.input}, d{operands.d, plan.output},
      bias{operands.bias, plan.output}, aux{operands.aux, plan.output};
  for (std::int64_t j = 0; j < plan.n; ++j)
    for (std::int64_t i = 0; i < plan.m; ++i) {
      const std::int64_t place = i + j * plan.ld_d;
      double sum = plan.accumulate ? d[place] : 0;
      for (std::int64_t l = 0; l < plan.k; ++l)
        sum += a[plan.transpose_a ? l + i * plan.ld_a : i + l * plan.ld_a] *
               b[plan.transpose_b ? j + l * plan.ld_b : l + j * plan.ld_b];
      if (has_bias(plan.epilogue)) sum += bias[i];
      if (plan.epilogue == Epilogue::d_gelu) {
        sum *= gelu_slope(aux[place]);
      } else if (has_aux(plan.epilogue)) {
        aux.set(place, sum);
        sum = gelu(sum);
      }
      d.set(place, sum);
    }
}

// What set_rows_to_bias() does on a GPU, there a row a block.
inline void set_rows_on_host(const Tensor& bias, const Tensor& c, bool accumulate) {
  const auto set = [&](auto c_type, auto bias_type) {
    for (std::int64_t i = 0; i < c.rows(); ++i)
      bias_row(SingleThread{}, bias.as<const decltype(bias_type)>(),
               c.as<decltype(c_type)>() + i * c.columns(), c.columns(), accumulate);
  };
  if (bias.dtype != c.dtype)
    set(float{}, bf16_t{});
  else
    with_type(c.dtype, [&](auto type) { set(type, type); });
}

}  // namespace tenax::kernels::cuda::test
