#include <cmath>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

constexpr double kEpsilon = 1e-5;

struct Norm {
  Values y, mean, rstd;
};

Norm layernorm(const Values& x, const Values& gamma, const Values& beta) {
  const std::size_t columns = gamma.size();
  Norm result;
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < columns; ++i) mean += x[first + i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i)
      variance += (x[first + i] - mean) * (x[first + i] - mean) / static_cast<double>(columns);
    const double rstd = 1 / std::sqrt(variance + kEpsilon);
    for (std::size_t i = 0; i < columns; ++i)
      result.y.push_back((x[first + i] - mean) * rstd * gamma[i] + beta[i]);
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
  }
  return result;
}

class LayerNorm : public OperationTest {
 protected:
  struct Inputs {
    Tensor x, gamma, beta, y, mean, rstd;
  };
  Inputs make(std::int64_t rows, std::int64_t columns, double mean = 0.3, double deviation = 1.0) {
    return {tensor({rows, columns}, normal_values("x", rows * columns, mean, deviation)),
            tensor({columns}, normal_values("gamma", columns, 1.0, 0.3)),
            tensor({columns}, normal_values("beta", columns)),
            output({rows, columns}),
            accumulator({rows}),
            accumulator({rows})};
  }
  void forward(const Inputs& in) {
    kernels().layernorm_forward(
        stream(),
        {.x = in.x, .gamma = in.gamma, .beta = in.beta, .y = in.y, .mean = in.mean, .rstd = in.rstd});
  }
  void expect_norm_of(const Values& x, const Inputs& in) {
    const Norm expected = layernorm(x, values(in.gamma), values(in.beta));
    expect_near(values(in.y), expected.y, tolerance());
    expect_near(values(in.mean), expected.mean, accumulation_tolerance());
    expect_near(values(in.rstd), expected.rstd, accumulation_tolerance());
  }
};

TEST_P(LayerNorm, forward_matches_plain_loops) {
  for (const std::int64_t columns : {1, 3, 64, 127, 768}) {
    const Inputs in = make(35, columns);
    forward(in);
    expect_norm_of(values(in.x), in);
  }
}

TEST_P(LayerNorm, keeps_its_accuracy_far_from_zero) {
  const Inputs in = make(5, 384, 1000.0, 1.0);
  forward(in);
  const Norm expected = layernorm(values(in.x), values(in.gamma), values(in.beta));
  // The mean is known to about 1000 · 2^-24, and the rest inherits that.
  expect_near(values(in.rstd), expected.rstd, dtype() == DType::f64 ? 1e-9 : 2e-5);
  expect_near(values(in.y), expected.y, dtype() == DType::f64 ? 1e-9 : dtype() == DType::f32 ? 3e-4 : 1e-2);
}

TEST_P(LayerNorm, residual_sum_and_norm_match_plain_loops) {
  const std::int64_t rows = 33, columns = 129;
  Inputs in = make(rows, columns);
  const Tensor delta = tensor({rows, columns}, normal_values("delta", rows * columns));
  const Tensor bias = tensor({columns}, normal_values("bias", columns)), sum = output({rows, columns});
  kernels().residual_layernorm_forward(stream(), {.x = in.x,
                                                  .delta = delta,
                                                  .bias = bias,
                                                  .sum = sum,
                                                  .gamma = in.gamma,
                                                  .beta = in.beta,
                                                  .y = in.y,
                                                  .mean = in.mean,
                                                  .rstd = in.rstd});
  Values expected = values(in.x);
  const Values deltas = values(delta), biases = values(bias);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += deltas[i] + biases[i % biases.size()];
  expect_near(values(sum), expected, tolerance());
  expect_norm_of(values(sum), in);  // of the sum as it was stored, which is what the backward pass reads
}

TEST_P(LayerNorm, a_back_ends_fusion_gives_what_the_plain_operations_give) {
  const std::int64_t rows = 7, columns = 65;
  const Inputs fused = make(rows, columns), composed = make(rows, columns);
  ResidualLayerNormForwardArgs args{.x = fused.x,
                                    .delta = tensor({rows, columns}, normal_values("delta", rows * columns)),
                                    .bias = tensor({columns}, normal_values("bias", columns)),
                                    .sum = output({rows, columns}),
                                    .gamma = fused.gamma,
                                    .beta = fused.beta,
                                    .y = fused.y,
                                    .mean = fused.mean,
                                    .rstd = fused.rstd};
  kernels().residual_layernorm_forward(stream(), args);
  const Values sum = values(args.sum);
  args.sum = output({rows, columns});
  args.y = composed.y;
  args.mean = composed.mean;
  args.rstd = composed.rstd;
  kernels().Kernels::residual_layernorm_forward(stream(), args);
  EXPECT_EQ(values(args.sum), sum);
  expect_near(values(composed.y), values(fused.y), tolerance());
  expect_near(values(composed.mean), values(fused.mean), accumulation_tolerance());
  expect_near(values(composed.rstd), values(fused.rstd), accumulation_tolerance());
}

TEST_P(LayerNorm, residual_sum_may_overwrite_either_term) {
  const std::int64_t rows = 9, columns = 65;
  const Inputs in = make(rows, columns);
  const Values deltas = normal_values("delta", rows * columns);
  const Tensor delta = tensor({rows, columns}, deltas),
               bias = tensor({columns}, normal_values("bias", columns));
  const auto run = [&](Tensor x, Tensor d, Tensor sum) {
    kernels().residual_layernorm_forward(stream(), {.x = x,
                                                    .delta = d,
                                                    .bias = bias,
                                                    .sum = sum,
                                                    .gamma = in.gamma,
                                                    .beta = in.beta,
                                                    .y = in.y,
                                                    .mean = in.mean,
                                                    .rstd = in.rstd});
    return std::pair(values(sum), values(in.y));
  };
  const auto apart = run(in.x, delta, output({rows, columns}));
  const Tensor x2 = tensor({rows, columns}, values(in.x)), delta2 = tensor({rows, columns}, values(delta));
  EXPECT_EQ(run(x2, delta, x2), apart);
  EXPECT_EQ(run(in.x, delta2, delta2), apart);
}

class LayerNormBackward : public LayerNorm {
 protected:
  struct Gradients {
    Values d_x, d_gamma, d_beta;
    bool operator==(const Gradients&) const = default;
  };
  Gradients backward(const Inputs& in, Tensor x, Tensor d_y, Tensor d_residual, Tensor d_x) {
    const std::int64_t columns = in.gamma.size();
    const Tensor d_gamma = accumulator({columns}), d_beta = accumulator({columns});
    kernels().layernorm_backward(stream(), {.x = x,
                                            .mean = in.mean,
                                            .rstd = in.rstd,
                                            .gamma = in.gamma,
                                            .d_y = d_y,
                                            .d_residual = d_residual,
                                            .d_x = d_x,
                                            .d_gamma = d_gamma,
                                            .d_beta = d_beta});
    return {values(d_x), values(d_gamma), values(d_beta)};
  }
};

TEST_P(LayerNormBackward, is_the_gradient_of_forward) {
  for (const bool residual : {false, true}) {
    const std::int64_t rows = 5, columns = 13, size = rows * columns;
    const Inputs in = make(rows, columns);
    forward(in);
    const Tensor d_y = tensor({rows, columns}, normal_values("d_y", size));
    const Tensor d_residual =
        residual ? tensor({rows, columns}, normal_values("d_residual", size)) : Tensor{};
    const Gradients actual = backward(in, in.x, d_y, d_residual, output({rows, columns}));
    const Values x = values(in.x), gamma = values(in.gamma), beta = values(in.beta), d = values(d_y);
    const double accuracy = std::max(tolerance(), 1e-8);  // 1e-8: of the differences
    Values d_x = numerical_gradient([&](const Values& v) { return dot(layernorm(v, gamma, beta).y, d); }, x);
    if (residual) {
      const Values added = values(d_residual);
      for (std::size_t i = 0; i < d_x.size(); ++i) d_x[i] += added[i];
    }
    expect_near(actual.d_x, d_x, accuracy);
    expect_near(actual.d_gamma,
                numerical_gradient([&](const Values& v) { return dot(layernorm(x, v, beta).y, d); }, gamma),
                std::max(accumulation_tolerance(), 1e-8));
    expect_near(actual.d_beta,
                numerical_gradient([&](const Values& v) { return dot(layernorm(x, gamma, v).y, d); }, beta),
                std::max(accumulation_tolerance(), 1e-8));
  }
}

TEST_P(LayerNormBackward, parameter_gradients_sum_all_rows) {
  const std::int64_t rows = 1031, columns = 67;  // many blocks of rows, the last one short
  const Inputs in = make(rows, columns);
  forward(in);
  const Tensor d_y = tensor({rows, columns}, normal_values("d_y", rows * columns));
  const Gradients actual = backward(in, in.x, d_y, {}, output({rows, columns}));
  const Values x = values(in.x), d = values(d_y), mean = values(in.mean), rstd = values(in.rstd);
  Values d_gamma(columns), d_beta(columns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    d_gamma[i % columns] += d[i] * (x[i] - mean[i / columns]) * rstd[i / columns];
    d_beta[i % columns] += d[i];
  }
  expect_near(actual.d_gamma, d_gamma, accumulation_tolerance());
  expect_near(actual.d_beta, d_beta, accumulation_tolerance());
}

TEST_P(LayerNormBackward, may_overwrite_any_of_its_inputs) {
  const std::int64_t rows = 41, columns = 77, size = rows * columns;
  const Inputs in = make(rows, columns);
  forward(in);
  const auto d_y = [&] { return tensor({rows, columns}, normal_values("d_y", size)); };
  const auto d_residual = [&] { return tensor({rows, columns}, normal_values("d_residual", size)); };
  const Gradients apart = backward(in, in.x, d_y(), d_residual(), output({rows, columns}));
  const Tensor x2 = tensor({rows, columns}, values(in.x)), d_y2 = d_y(), d_residual2 = d_residual();
  EXPECT_EQ(backward(in, x2, d_y(), d_residual(), x2), apart);
  EXPECT_EQ(backward(in, in.x, d_y2, d_residual(), d_y2), apart);
  EXPECT_EQ(backward(in, in.x, d_y(), d_residual2, d_residual2), apart);
}

TEST_P(LayerNormBackward, and_forward_pass_on_what_is_not_a_number) {
  Values x = normal_values("x", 2 * 40), d_y = normal_values("d_y", 2 * 40);
  x[13] = d_y[50] = std::nan("");
  Inputs in = make(2, 40);
  in.x = tensor({2, 40}, x);
  forward(in);
  const Gradients actual = backward(in, in.x, tensor({2, 40}, d_y), {}, output({2, 40}));
  EXPECT_TRUE(std::isnan(values(in.y)[0]) && std::isnan(values(in.mean)[0]));
  EXPECT_TRUE(std::isfinite(values(in.y)[40]) && std::isfinite(values(in.mean)[1]));
  EXPECT_TRUE(std::isnan(actual.d_x[0]) && std::isnan(actual.d_x[40]));
  EXPECT_TRUE(std::isnan(actual.d_gamma[0]) && std::isnan(actual.d_beta[10]));
}

TEST_P(LayerNormBackward, of_no_rows_has_zero_parameter_gradients) {
  const Inputs in = make(0, 7);
  forward(in);
  const Gradients actual = backward(in, in.x, output({0, 7}), {}, output({0, 7}));
  EXPECT_EQ(actual.d_gamma, Values(7, 0.0));
  EXPECT_EQ(actual.d_beta, Values(7, 0.0));
}

TENAX_TEST_OPERATION(LayerNorm);
TENAX_TEST_OPERATION(LayerNormBackward);

}  // namespace
}  // namespace tenax::kernels::test
