#include <cmath>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

// torch.optim.AdamW, one parameter, in fp64 ("Decoupled weight decay regularization", algorithm 2).
struct Parameter {
  double w, m, v;
  void update(double gradient, const AdamWArgs& args) {
    const double g = gradient * args.gradient_scale, t = static_cast<double>(args.step);
    w -= args.learning_rate * args.weight_decay * w;
    m = args.beta1 * m + (1 - args.beta1) * g;
    v = args.beta2 * v + (1 - args.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(args.beta1, t)), v_hat = v / (1 - std::pow(args.beta2, t));
    w -= args.learning_rate * m_hat / (std::sqrt(v_hat) + args.epsilon);
  }
};

class AdamW : public OperationTest {};

TEST_P(AdamW, several_steps_match_torchs_formula) {
  const std::int64_t count = 1037;
  AdamWArgs args{.master = accumulator({count}, normal_values("w", count)),
                 .gradient = accumulator({count}),
                 .exp_avg = accumulator({count}, Values(count)),
                 .exp_avg_sq = accumulator({count}, Values(count)),
                 .compute = {},
                 .learning_rate = 1e-2,
                 .weight_decay = 0.1,
                 .gradient_scale = 0.25};
  std::vector<Parameter> expected;
  for (const double w : values(args.master)) expected.push_back({w, 0, 0});
  for (args.step = 1; args.step <= 5; ++args.step) {
    args.gradient = accumulator({count}, normal_values(std::to_string(args.step), count));
    const Values g = values(args.gradient);
    kernels().adamw(stream(), args);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i].update(g[i], args);
  }
  Values w, m, v;
  for (const Parameter& p : expected) w.push_back(p.w), m.push_back(p.m), v.push_back(p.v);
  expect_near(values(args.master), w, accumulation_tolerance());
  expect_near(values(args.exp_avg), m, accumulation_tolerance());
  expect_near(values(args.exp_avg_sq), v, accumulation_tolerance());
}

TEST_P(AdamW, first_step_moves_by_the_learning_rate_whatever_the_gradients_size) {
  const Tensor master = accumulator({3}, {1.0, 1.0, 1.0});
  kernels().adamw(stream(), {.master = master,
                             .gradient = accumulator({3}, {1e-4, -1.0, 1e4}),
                             .exp_avg = accumulator({3}, Values(3)),
                             .exp_avg_sq = accumulator({3}, Values(3)),
                             .compute = {},
                             .learning_rate = 0.1});
  expect_near(values(master), {0.9, 1.1, 0.9}, dtype() == DType::f64 ? 1e-4 : 1e-4);
}

TEST_P(AdamW, the_copy_in_the_compute_type_is_the_rounded_master) {
  const std::int64_t count = 517;
  const Tensor master = accumulator({count}, normal_values("w", count)), compute = output({count});
  const Values before = values(master);
  kernels().adamw(stream(), {.master = master,
                             .gradient = accumulator({count}, normal_values("g", count)),
                             .exp_avg = accumulator({count}, Values(count)),
                             .exp_avg_sq = accumulator({count}, Values(count)),
                             .compute = compute,
                             .learning_rate = 1e-2});
  EXPECT_NE(values(master), before);
  EXPECT_EQ(values(compute), values(tensor({count}, values(master))));
}

TEST_P(AdamW, a_zero_gradient_without_decay_changes_nothing) {
  const Tensor master = accumulator({100}, normal_values("w", 100));
  const Values before = values(master);
  kernels().adamw(stream(), {.master = master,
                             .gradient = accumulator({100}, Values(100)),
                             .exp_avg = accumulator({100}, Values(100)),
                             .exp_avg_sq = accumulator({100}, Values(100)),
                             .compute = {},
                             .learning_rate = 1.0});
  EXPECT_EQ(values(master), before);
}

// The sharded state cuts parameters anywhere.
TEST_P(AdamW, ranges_are_updated_as_in_one_call_wherever_they_are_cut) {
  const std::int64_t count = 4000;
  const auto state = [&] {
    return AdamWArgs{.master = accumulator({count}, normal_values("w", count)),
                     .gradient = accumulator({count}, normal_values("g", count)),
                     .exp_avg = accumulator({count}, normal_values("m", count)),
                     .exp_avg_sq = accumulator({count}, Values(count, 0.5)),
                     .compute = output({count}),
                     .learning_rate = 1e-2,
                     .weight_decay = 0.1};
  };
  const AdamWArgs whole = state(), cut = state();
  kernels().adamw(stream(), whole);
  const std::vector<std::int64_t> edges{0, 3, 1029, 1032, 4000};
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const Shape range{edges[i + 1] - edges[i]};
    AdamWArgs args = cut;
    for (Tensor* t : {&args.master, &args.gradient, &args.exp_avg, &args.exp_avg_sq, &args.compute})
      *t = t->part(edges[i], range);
    kernels().adamw(stream(), args);
  }
  expect_near(values(cut.master), values(whole.master), accumulation_tolerance());
  expect_near(values(cut.exp_avg), values(whole.exp_avg), accumulation_tolerance());
  expect_near(values(cut.exp_avg_sq), values(whole.exp_avg_sq), accumulation_tolerance());
  EXPECT_EQ(values(cut.compute), values(tensor({count}, values(cut.master))));
}

TENAX_TEST_OPERATION(AdamW);

}  // namespace
}  // namespace tenax::kernels::test
