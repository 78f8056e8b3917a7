// The bodies of the GPU's layer norm, on the host's threads, against the CPU back end.
#include "kernels/cuda/column_sums_body.hpp"
#include "kernels/cuda/layernorm_backward_body.hpp"
#include "kernels/cuda/layernorm_forward_body.hpp"
#include "tests/kernels/cuda_bodies_test.hpp"

namespace tenax::kernels::test {
namespace {

using namespace cuda;

class CudaLayerNormBodies : public BodyTest {
 protected:
  static constexpr std::int64_t kRows = 11;

  /// Of results rounded to the compute type, which may fall to either side.
  double tolerance_in_type() const { return dtype() == DType::bf16 ? 1e-2 : tolerance(); }

  struct Norm {
    Tensor x, delta, bias, sum, gamma, beta, y, mean, rstd;
  };
  Norm make(std::int64_t columns) {
    const std::int64_t size = kRows * columns;
    return {tensor({kRows, columns}, normal_values("x", size, 0.3)),
            tensor({kRows, columns}, normal_values("delta", size)),
            tensor({columns}, normal_values("bias", columns)),
            output({kRows, columns}),
            tensor({columns}, normal_values("gamma", columns, 1.0, 0.3)),
            tensor({columns}, normal_values("beta", columns)),
            output({kRows, columns}),
            accumulator({kRows}),
            accumulator({kRows})};
  }
  void on_cpu(const Norm& n) {
    cpu().residual_layernorm_forward(stream(), {.x = n.x,
                                                .delta = n.delta,
                                                .bias = n.bias,
                                                .sum = n.sum,
                                                .gamma = n.gamma,
                                                .beta = n.beta,
                                                .y = n.y,
                                                .mean = n.mean,
                                                .rstd = n.rstd});
  }
  template <class T>
  static NormRows<T> rows_of(const Norm& n) {
    using A = Accumulator<T>;
    return {n.x.as<T>(), n.delta.as<T>(), n.bias.as<T>(), n.sum.as<T>(), n.gamma.as<T>(), n.beta.as<T>(),
            n.y.as<T>(), n.mean.as<A>(),  n.rstd.as<A>(), A(1e-5),       n.x.columns()};
  }
  template <bool residual>
  void expect_body_gives(const Norm& expected, const Norm& in) {
    with_type(dtype(), [&](auto type) {
      using T = decltype(type);
      const NormRows<T> op = rows_of<T>(in);
      for_widths<T>(op.columns, [&]<int kCount>() {
        for_each_group(
            [&](auto group) {
              for (std::int64_t row = 0; row < kRows; ++row)
                layernorm_forward_row<kCount, residual>(group, op, row);
            },
            [&] {
              expect_near(values(in.y), values(expected.y), tolerance_in_type());
              expect_near(values(in.mean), values(expected.mean), tolerance());
              expect_near(values(in.rstd), values(expected.rstd), tolerance());
              if (residual) expect_near(values(in.sum), values(expected.sum), tolerance_in_type());
              for (const Tensor& written : {in.y, in.mean, in.rstd, in.sum}) spoil(written);
            });
      });
    });
  }
};

// Rows that registers hold and rows that are read again, in packs and element by element.
constexpr std::int64_t kColumns[] = {1, 3, 8, 24, 32, 40, 96, 104, 129, 768};

TEST_P(CudaLayerNormBodies, forward_is_the_cpus) {
  for (const std::int64_t columns : kColumns) {
    const Norm expected = make(columns), actual = make(columns);
    cpu().layernorm_forward(stream(), {.x = expected.x,
                                       .gamma = expected.gamma,
                                       .beta = expected.beta,
                                       .y = expected.y,
                                       .mean = expected.mean,
                                       .rstd = expected.rstd});
    expect_body_gives<false>(expected, actual);
  }
}

TEST_P(CudaLayerNormBodies, residual_forward_is_the_cpus) {
  for (const std::int64_t columns : kColumns) {
    const Norm expected = make(columns), actual = make(columns);
    on_cpu(expected);
    expect_body_gives<true>(expected, actual);
  }
}

TEST_P(CudaLayerNormBodies, residual_sum_may_overwrite_either_term) {
  for (const std::int64_t columns : {8, 32, 104}) {
    const Norm apart = make(columns);
    Norm over_x = make(columns), over_delta = make(columns);
    over_x.sum = over_x.x;
    over_delta.sum = over_delta.delta;
    with_type(dtype(), [&](auto type) {
      using T = decltype(type);
      constexpr int kCount = sizeof(T) <= 4 ? kWidth : 1;
      for (const Norm& norm : {apart, over_x, over_delta})
        for (std::int64_t row = 0; row < kRows; ++row)
          layernorm_forward_row<kCount, true>(SingleThread{}, rows_of<T>(norm), row);
    });
    for (const Norm& norm : {over_x, over_delta}) {
      EXPECT_EQ(values(norm.sum), values(apart.sum));
      EXPECT_EQ(values(norm.y), values(apart.y));
    }
  }
}

// How a block of the backward pass takes its rows.
enum class Form { one_slot_ahead, three_slots, any };

class CudaLayerNormBackwardBodies : public CudaLayerNormBodies {
 protected:
  struct Gradients {
    Tensor d_residual, d_x, d_gamma, d_beta;
  };

  template <class T, class Group>
  static void run(Form form, Group group, const NormGradientRows<T>& op, std::int64_t block,
                  std::int64_t blocks, Accumulator<T>* partial) {
    if constexpr (sizeof(T) <= 4) {
      if (form == Form::one_slot_ahead)
        return layernorm_backward_held<kWidth, 1, true>(group, op, block, blocks, partial);
      if (form == Form::three_slots)
        return layernorm_backward_held<kWidth, 3, false>(group, op, block, blocks, partial);
    }
    layernorm_backward_any(group, op, block, blocks, partial);
  }

  // All blocks, one after another, and the second stage.
  template <class T, class Group>
  static void run_blocks(Form form, Group group, const NormGradientRows<T>& op, std::int64_t blocks,
                         Accumulator<T>* partials, const Gradients& to) {
    using A = Accumulator<T>;
    for (std::int64_t block = 0; block < blocks; ++block)
      run(form, group, op, block, blocks, partials + block * 2 * op.columns);
    group.sync();
    const ChunkSums<A> sums{partials, blocks, op.columns, to.d_gamma.as<A>(), to.d_beta.as<A>(), false};
    for (std::int64_t column = 0; column < sums.width() + 3; ++column) sum_chunks(group, sums, column);
  }

  template <class T>
  static NormGradientRows<T> gradient_rows(const Norm& n, Tensor d_y, const Gradients& to) {
    using A = Accumulator<T>;
    return {n.sum.as<T>(),  n.gamma.as<T>(), d_y.as<T>(),    to.d_residual ? to.d_residual.as<T>() : nullptr,
            n.mean.as<A>(), n.rstd.as<A>(),  to.d_x.as<T>(), kRows,
            n.x.columns()};
  }

  Gradients outputs(std::int64_t columns, bool residual) {
    return {residual ? tensor({kRows, columns}, normal_values("d_residual", kRows * columns)) : Tensor{},
            output({kRows, columns}), accumulator({columns}), accumulator({columns})};
  }
  void on_cpu_backward(const Norm& n, Tensor d_y, const Gradients& to) {
    cpu().layernorm_backward(stream(), {.x = n.sum,
                                        .mean = n.mean,
                                        .rstd = n.rstd,
                                        .gamma = n.gamma,
                                        .d_y = d_y,
                                        .d_residual = to.d_residual,
                                        .d_x = to.d_x,
                                        .d_gamma = to.d_gamma,
                                        .d_beta = to.d_beta});
  }
  // The largest term of each row's gradient: rstd · gamma · d_y.
  Values terms_of(const Norm& n, Tensor d_y) {
    const Values rstd = values(n.rstd), gamma = values(n.gamma), gradients = values(d_y);
    Values terms(kRows);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::size_t row = i / gamma.size();
      terms[row] = std::max(terms[row], std::abs(rstd[row] * gamma[i % gamma.size()] * gradients[i]));
    }
    return terms;
  }
  // What a row's terms leave of each other may be nothing but their rounding: all of it where the row is a single value.
  void expect_same(const Gradients& actual, const Gradients& expected, const Values& terms) {
    const Values is = values(actual.d_x), wanted = values(expected.d_x);
    const std::size_t columns = is.size() / terms.size();
    for (std::size_t i = 0; i < is.size(); ++i)
      ASSERT_NEAR(is[i], wanted[i], tolerance_in_type() * std::max(terms[i / columns], std::abs(wanted[i])))
          << "element " << i << " of " << columns << " columns";
    expect_near(values(actual.d_gamma), values(expected.d_gamma), tolerance());
    expect_near(values(actual.d_beta), values(expected.d_beta), tolerance());
  }

  // blocks: fewer than rows, and more, so that some have none.
  void expect_cpus_gradients(Form form, std::int64_t columns) {
    const Norm norm = make(columns);
    on_cpu(norm);
    const Tensor d_y = tensor({kRows, columns}, normal_values("d_y", kRows * columns));
    const Values terms = terms_of(norm, d_y);
    for (const bool residual : {false, true}) {
      const Gradients expected = outputs(columns, residual), actual = outputs(columns, residual);
      on_cpu_backward(norm, d_y, expected);
      for (const std::int64_t blocks : {1, 4, 13})
        with_type(dtype(), [&](auto type) {
          using T = decltype(type);
          std::vector<Accumulator<T>> partials(static_cast<std::size_t>(blocks * 2 * columns), -99);
          const auto op = gradient_rows<T>(norm, d_y, actual);
          for_each_group([&](auto group) { run_blocks(form, group, op, blocks, partials.data(), actual); },
                         [&] {
                           expect_same(actual, expected, terms);
                           for (const Tensor& written : {actual.d_x, actual.d_gamma, actual.d_beta})
                             spoil(written);
                           std::fill(partials.begin(), partials.end(), Accumulator<T>(-99));
                         });
        });
    }
  }
};

TEST_P(CudaLayerNormBackwardBodies, hold_short_rows_in_registers) {
  if (dtype() == DType::f64) return;  // which is always taken element by element
  expect_cpus_gradients(Form::one_slot_ahead, 8);
  for (const std::int64_t columns : {8, 16, 24}) expect_cpus_gradients(Form::three_slots, columns);
}

TEST_P(CudaLayerNormBackwardBodies, take_rows_of_any_length) {
  for (const std::int64_t columns : {1, 2, 7, 64, 131}) expect_cpus_gradients(Form::any, columns);
}

TEST_P(CudaLayerNormBackwardBodies, may_overwrite_any_of_their_inputs) {
  const std::int64_t columns = 8, size = kRows * columns;
  for (const Form form : {Form::one_slot_ahead, Form::three_slots, Form::any})
    for (const int overwritten : {0, 1, 2}) {
      Norm norm = make(columns);
      on_cpu(norm);
      const Tensor d_y = tensor({kRows, columns}, normal_values("d_y", size));
      const Values terms = terms_of(norm, d_y);
      const Gradients expected = outputs(columns, true);
      on_cpu_backward(norm, d_y, expected);
      Gradients actual = outputs(columns, true);
      actual.d_x = overwritten == 0 ? norm.sum : overwritten == 1 ? d_y : actual.d_residual;
      with_type(dtype(), [&](auto type) {
        using T = decltype(type);
        std::vector<Accumulator<T>> partials(static_cast<std::size_t>(4 * 2 * columns));
        run_blocks(form, SingleThread{}, gradient_rows<T>(norm, d_y, actual), 4, partials.data(), actual);
      });
      expect_same(actual, expected, terms);
    }
}

TENAX_TEST_BODY(CudaLayerNormBodies);
TENAX_TEST_BODY(CudaLayerNormBackwardBodies);

}  // namespace
}  // namespace tenax::kernels::test
