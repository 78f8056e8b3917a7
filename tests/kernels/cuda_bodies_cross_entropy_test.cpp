#include <cmath>
#include <limits>

#include "kernels/cuda/cross_entropy_body.hpp"
#include "tests/kernels/cuda_bodies_test.hpp"

namespace tenax::kernels::test {
namespace {

class CrossEntropyBody : public BodyTest {
 protected:
  CrossEntropyForwardArgs forward_args(Tensor logits, Tensor targets, std::int64_t vocab_begin,
                                       std::int64_t valid) {
    const Shape rows{targets.size()};
    return {logits, targets, accumulator(rows), accumulator(rows), accumulator(rows), vocab_begin, valid};
  }

  template <int kCount, class T>
  void forward(const CrossEntropyForwardArgs& args, int threads) {
    using A = Accumulator<T>;
    const cuda::CrossEntropyForwardRows<T> rows{args.logits.as<T>(),       args.targets.as<std::int32_t>(),
                                                args.row_max.as<A>(),      args.row_sum.as<A>(),
                                                args.target_logit.as<A>(), args.logits.columns(),
                                                args.valid_columns,        args.vocab_begin};
    for_group(threads, [&](auto group) {
      for (std::int64_t row = 0; row < args.targets.size(); ++row)
        cuda::cross_entropy_forward_row<kCount>(group, rows, row);
    });
  }

  template <int kCount, class T>
  void backward(const CrossEntropyBackwardArgs& args, int threads) {
    using A = Accumulator<T>;
    const cuda::CrossEntropyBackwardRows<T> rows{args.logits.as<T>(),      args.targets.as<std::int32_t>(),
                                                 args.log_sum_exp.as<A>(), args.d_logits.as<T>(),
                                                 args.logits.columns(),    args.valid_columns,
                                                 args.vocab_begin,         A(args.scale)};
    for_group(threads, [&](auto group) {
      for (std::int64_t row = 0; row < args.targets.size(); ++row)
        cuda::cross_entropy_backward_row<kCount>(group, rows, row);
    });
  }

  // Rounding of a result to the compute type: two may lie on both sides of where it switches.
  double rounding() const { return dtype() == DType::bf16 ? 0x1p-7 : tolerance(); }
};

struct ShardCase {
  std::int64_t columns, vocab_begin, valid;
};
const std::vector<ShardCase> kShards{{5008, 0, 5003}, {5008, 5008, 0}, {5003, 17, 5003},
                                     {8, 0, 8},       {7, 0, 3},       {160, 4, 159}};

TEST_P(CrossEntropyBody, forward_matches_the_cpu_for_any_shard_width_and_number_of_threads) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    for (const auto& [columns, vocab_begin, valid] : kShards) {
      const Tensor logits = tensor({4, columns}, normal_values("logits", 4 * columns, 0.0, 9.0));
      const Tensor targets =
          bench_.tokens({4}, {0, 18, static_cast<std::int32_t>(vocab_begin + valid - 1), 6000});
      const CrossEntropyForwardArgs expected = forward_args(logits, targets, vocab_begin, valid);
      cpu().cross_entropy_forward(stream(), expected);
      for (const int threads : {1, 3})
        for_widths<T>(columns, [&]<int kCount>() {
          const CrossEntropyForwardArgs actual = forward_args(logits, targets, vocab_begin, valid);
          forward<kCount, T>(actual, threads);
          EXPECT_EQ(values(actual.row_max), values(expected.row_max));
          EXPECT_EQ(values(actual.target_logit), values(expected.target_logit));
          expect_near(values(actual.row_sum), values(expected.row_sum), tolerance());
        });
    }
  });
}

TEST_P(CrossEntropyBody, one_logit_that_is_not_finite_spoils_its_row_only) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
      for (const std::int64_t column : {0, 7, 8, 95, 159})
        for (const int threads : {1, 3})
          for_widths<T>(160, [&]<int kCount>() {
            Values x = normal_values("logits", 320);
            x[static_cast<std::size_t>(column)] = bad;
            const auto args = forward_args(tensor({2, 160}, x), bench_.tokens({2}, {1, 1}), 0, 160);
            forward<kCount, T>(args, threads);
            EXPECT_TRUE(std::isnan(values(args.row_sum)[0])) << bad << " in column " << column;
            EXPECT_TRUE(std::isfinite(values(args.row_sum)[1]));
          });
  });
}

TEST_P(CrossEntropyBody, minus_infinity_counts_as_zero_probability) {
  with_type(dtype(), [&](auto type) {
    const double nothing = -std::numeric_limits<double>::infinity();
    const auto args =
        forward_args(tensor({1, 4}, {nothing, 2.0, nothing, 2.0}), bench_.tokens({1}, {0}), 0, 4);
    forward<1, decltype(type)>(args, 2);
    EXPECT_EQ(values(args.row_sum), Values{2.0});
    EXPECT_EQ(values(args.target_logit), Values{nothing});
  });
}

TEST_P(CrossEntropyBody, backward_matches_the_cpu_apart_and_in_place) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    for (const auto& [columns, vocab_begin, valid] : kShards) {
      const Values x = normal_values("logits", 4 * columns);
      const Tensor logits = tensor({4, columns}, x), expected = output({4, columns});
      CrossEntropyBackwardArgs args{
          logits,
          bench_.tokens({4}, {0, 18, static_cast<std::int32_t>(vocab_begin + valid - 1), 6000}),
          accumulator({4}, {0.5, 3.0, 9.0, 5.0}),
          expected,
          vocab_begin,
          valid,
          0.37};
      cpu().cross_entropy_backward(stream(), args);
      for (const int threads : {1, 3})
        for_widths<T>(columns, [&]<int kCount>() {
          for (const bool in_place : {false, true}) {
            args.logits = tensor({4, columns}, x);
            args.d_logits = in_place ? args.logits : output({4, columns});
            backward<kCount, T>(args, threads);
            expect_near(values(args.d_logits), values(expected), rounding(), 0.0);
          }
        });
    }
  });
}

TENAX_TEST_BODY(CrossEntropyBody);

}  // namespace
}  // namespace tenax::kernels::test
