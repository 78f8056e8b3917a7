#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

// Mean-free cross entropy of each row over `valid` columns, in plain loops.
double loss_of(const double* row, std::int64_t valid, std::int64_t target) {
  const double maximum = *std::max_element(row, row + valid);
  double sum = 0;
  for (std::int64_t i = 0; i < valid; ++i) sum += std::exp(row[i] - maximum);
  return maximum + std::log(sum) - row[target];
}

class CrossEntropy : public OperationTest {
 protected:
  struct Shard {
    Tensor logits, row_max, row_sum, target_logit;
    std::int64_t vocab_begin, valid_columns;
  };

  // Columns [begin, begin + columns) of the logits, of which those from `vocab` on are padding with wild
  // values.
  Shard shard(const Values& logits, std::int64_t vocab, std::int64_t begin, std::int64_t columns) {
    const std::int64_t rows = static_cast<std::int64_t>(logits.size()) / vocab;
    Values part;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = begin; i < begin + columns; ++i)
        part.push_back(i < vocab ? logits[static_cast<std::size_t>(row * vocab + i)] : 1e6);
    return {tensor({rows, columns}, part),
            accumulator({rows}),
            accumulator({rows}),
            accumulator({rows}),
            begin,
            std::clamp<std::int64_t>(vocab - begin, 0, columns)};
  }

  void forward(const Shard& s, Tensor targets) {
    kernels().cross_entropy_forward(stream(), {.logits = s.logits,
                                               .targets = targets,
                                               .row_max = s.row_max,
                                               .row_sum = s.row_sum,
                                               .target_logit = s.target_logit,
                                               .vocab_begin = s.vocab_begin,
                                               .valid_columns = s.valid_columns});
  }

  // What the ranks of a tensor-parallel group do, with the all-reduces done by add and maximum.
  struct Result {
    Tensor log_sum_exp, losses;
  };
  Result losses(const std::vector<Shard>& shards, Tensor targets) {
    const std::int64_t rows = targets.size();
    for (const Shard& s : shards) forward(s, targets);
    const Tensor maximum = accumulator({rows}, values(shards[0].row_max));
    for (const Shard& s : shards) kernels().maximum(stream(), s.row_max, maximum);
    const Tensor sum = accumulator({rows}, Values(static_cast<std::size_t>(rows))),
                 target = accumulator({rows}, Values(static_cast<std::size_t>(rows)));
    for (const Shard& s : shards) {
      kernels().cross_entropy_rescale(stream(),
                                      {.local_max = s.row_max, .global_max = maximum, .row_sum = s.row_sum});
      kernels().add(stream(), s.row_sum, sum);
      kernels().add(stream(), s.target_logit, target);
    }
    const Tensor result = accumulator({rows});
    kernels().cross_entropy_loss(
        stream(),
        {.row_max = maximum, .row_sum = sum, .target_logit = target, .log_sum_exp = sum, .losses = result});
    return {sum, result};
  }

  void backward(const Shard& s, Tensor targets, Tensor log_sum_exp, Tensor d_logits, double scale) {
    kernels().cross_entropy_backward(stream(), {.logits = s.logits,
                                                .targets = targets,
                                                .log_sum_exp = log_sum_exp,
                                                .d_logits = d_logits,
                                                .vocab_begin = s.vocab_begin,
                                                .valid_columns = s.valid_columns,
                                                .scale = scale});
  }

  // The logits as they are in the compute type.
  Values rounded(const Values& logits) {
    return values(tensor({static_cast<std::int64_t>(logits.size())}, logits));
  }
};

TEST_P(CrossEntropy, losses_match_plain_loops_however_the_vocabulary_is_cut) {
  const std::int64_t rows = 5, vocab = 5003;
  const Values logits = rounded(normal_values("logits", rows * vocab, 0.0, 5.0));
  const std::vector<std::int32_t> target_values{0, 5002, 1251, 2502, 17};
  const Tensor targets = bench_.tokens({rows}, target_values);
  Values expected;
  for (std::int64_t row = 0; row < rows; ++row)
    expected.push_back(
        loss_of(logits.data() + row * vocab, vocab, target_values[static_cast<std::size_t>(row)]));
  for (const std::int64_t parts : {1, 2, 4, 7})
    for (const std::int64_t multiple : {1, 8}) {
      const std::int64_t unit = parts * multiple, columns = (vocab + unit - 1) / unit * multiple;
      std::vector<Shard> shards;
      for (std::int64_t part = 0; part < parts; ++part)
        shards.push_back(shard(logits, vocab, part * columns, columns));
      expect_near(values(losses(shards, targets).losses), expected, accumulation_tolerance());
    }
}

TEST_P(CrossEntropy, large_logits_do_not_overflow) {
  const Values logits{1e4, 1e4 - 64, -1e4, 3e4, -3e4, 0.0};
  const Tensor targets = bench_.tokens({2}, {1, 0});
  const Values exact = rounded(logits);
  const Result result = losses({shard(exact, 3, 0, 3)}, targets);
  expect_near(values(result.losses), {loss_of(&exact[0], 3, 1), loss_of(&exact[3], 3, 0)},
              accumulation_tolerance());
}

TEST_P(CrossEntropy, a_shard_without_valid_columns_adds_nothing) {
  const Values logits = rounded(normal_values("logits", 2 * 9));
  const Tensor targets = bench_.tokens({2}, {8, 0});
  const Shard padding = shard(logits, 9, 12, 3), real = shard(logits, 9, 0, 12);
  forward(padding, targets);
  const double lowest = dtype() == DType::f64 ? std::numeric_limits<double>::lowest()
                                              : static_cast<double>(std::numeric_limits<float>::lowest());
  EXPECT_EQ(values(padding.row_max), Values(2, lowest));
  EXPECT_EQ(values(padding.row_sum), Values(2, 0.0));
  EXPECT_EQ(values(padding.target_logit), Values(2, 0.0));
  expect_near(values(losses({padding, real}, targets).losses),
              {loss_of(&logits[0], 9, 8), loss_of(&logits[9], 9, 0)}, accumulation_tolerance());
}

TEST_P(CrossEntropy, backward_is_the_gradient_of_the_losses_and_zero_on_padding) {
  const std::int64_t rows = 3, vocab = 19;
  const double scale = 0.37;
  const std::vector<std::int32_t> target_values{18, 0, 11};
  const Tensor targets = bench_.tokens({rows}, target_values);
  const Values logits = rounded(normal_values("logits", rows * vocab, 0.0, 2.0));
  const Values expected = numerical_gradient(
      [&](const Values& v) {
        double sum = 0;
        for (std::size_t row = 0; row < 3; ++row) sum += loss_of(&v[row * 19], vocab, target_values[row]);
        return scale * sum;
      },
      logits);
  for (const std::int64_t columns : {12, 16}) {
    const std::vector<Shard> shards{shard(logits, vocab, 0, columns), shard(logits, vocab, columns, columns)};
    const Tensor log_sum_exp = losses(shards, targets).log_sum_exp;
    for (const Shard& s : shards) {
      const Tensor d_logits = output({rows, columns});
      backward(s, targets, log_sum_exp, d_logits, scale);
      Values part;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = s.vocab_begin; i < s.vocab_begin + columns; ++i)
          part.push_back(i < vocab ? expected[static_cast<std::size_t>(row * vocab + i)] : 0.0);
      expect_near(values(d_logits), part, std::max(tolerance(), 1e-8));
    }
  }
}

TEST_P(CrossEntropy, gradients_of_a_row_sum_to_zero) {
  const std::int64_t vocab = 3001;
  const Values logits = rounded(normal_values("logits", vocab));
  const Tensor targets = bench_.tokens({1}, {7});
  const Shard s = shard(logits, vocab, 0, vocab);
  backward(s, targets, losses({s}, targets).log_sum_exp, s.logits, 1.0);
  double sum = 0;
  for (const double d : values(s.logits)) sum += d;
  EXPECT_NEAR(sum, 0.0, tolerance());
}

TEST_P(CrossEntropy, backward_may_overwrite_the_logits) {
  const std::int64_t rows = 4, vocab = 301;
  const Values logits = rounded(normal_values("logits", rows * vocab));
  const Tensor targets = bench_.tokens({rows}, {300, 1, 2, 3});
  const Shard s = shard(logits, vocab, 0, 304);
  const Tensor log_sum_exp = losses({s}, targets).log_sum_exp, apart = output({rows, 304});
  backward(s, targets, log_sum_exp, apart, 2.0);
  backward(s, targets, log_sum_exp, s.logits, 2.0);
  EXPECT_EQ(values(s.logits), values(apart));
}

// A step with a non-finite logit anywhere must be seen: its losses are summed and voted on.
TEST_P(CrossEntropy, a_non_finite_logit_makes_its_loss_non_finite) {
  const std::int64_t vocab = 4111;
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (const std::int64_t column : {0, 1, 63, 2047, 2048, 4096, 4110})
      for (const std::int64_t parts : {1, 2}) {
        Values logits = rounded(normal_values("logits", 2 * vocab));
        logits[static_cast<std::size_t>(column)] = bad;
        const Tensor targets = bench_.tokens({2}, {5, 5});
        const std::int64_t columns = (vocab + parts - 1) / parts;
        std::vector<Shard> shards;
        for (std::int64_t part = 0; part < parts; ++part)
          shards.push_back(shard(logits, vocab, part * columns, columns));
        const Values result = values(losses(shards, targets).losses);
        EXPECT_FALSE(std::isfinite(result[0])) << bad << " in column " << column << " of " << parts;
        EXPECT_TRUE(std::isfinite(result[1])) << "only the row of the bad logit is touched";
      }
}

TEST_P(CrossEntropy, an_infinitely_improbable_target_has_infinite_loss) {
  Values logits = normal_values("logits", 5);
  logits[2] = -std::numeric_limits<double>::infinity();
  const Values result = values(losses({shard(logits, 5, 0, 5)}, bench_.tokens({1}, {2})).losses);
  EXPECT_EQ(result[0], std::numeric_limits<double>::infinity());
}

TENAX_TEST_OPERATION(CrossEntropy);

}  // namespace
}  // namespace tenax::kernels::test
