#include <array>
#include <cmath>
#include <limits>
#include <new>

#include "kernels/adamw_coefficients.hpp"
#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// torch.optim.AdamW, one parameter, in fp64 ("Decoupled weight decay regularization", algorithm 2).
struct Parameter {
  double w, m, v;
  void update(double gradient, const AdamWRule& rule) {
    const double g = gradient / rule.tokens, t = static_cast<double>(rule.step);
    w -= rule.learning_rate * rule.weight_decay * w;
    m = rule.beta1 * m + (1 - rule.beta1) * g;
    v = rule.beta2 * v + (1 - rule.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(rule.beta1, t)), v_hat = v / (1 - std::pow(rule.beta2, t));
    w -= rule.learning_rate * m_hat / (std::sqrt(v_hat) + rule.epsilon);
  }
};

class AdamW : public OperationTest {
 protected:
  AdamWStretch stretch(std::int64_t count, const std::string& name) {
    Values squares = normal_values(name + "v", count);
    for (double& v : squares) v *= v;
    return {.master = accumulator({count}, normal_values(name + "w", count)),
            .gradient = accumulator({count}, normal_values(name + "g", count)),
            .exp_avg = accumulator({count}, normal_values(name + "m", count)),
            .exp_avg_sq = accumulator({count}, squares),
            .compute = output({count})};
  }
  // One without moments and copy.
  AdamWStretch fresh(const Values& weights, const Values& gradient) {
    const auto count = static_cast<std::int64_t>(weights.size());
    return {.master = accumulator({count}, weights),
            .gradient = accumulator({count}, gradient),
            .exp_avg = accumulator({count}, Values(weights.size())),
            .exp_avg_sq = accumulator({count}, Values(weights.size())),
            .compute = {}};
  }
  void update(std::span<const AdamWStretch> stretches, const AdamWRule& rule, double squares = 0,
              double loss_squares = 0) {
    const auto pinned = bench_.device().allocate(sizeof(AdamWStep), MemoryKind::pinned_host);
    auto* const step = new (pinned->data()) AdamWStep(rule);
    step->squares = squares;
    step->loss_squares = loss_squares;
    const Tensor coefficients = accumulator({kAdamWCoefficients});
    kernels().adamw_coefficients(stream(), {step, coefficients});
    kernels().adamw(stream(), {stretches, coefficients});
    stream().synchronize(Deadline::after_s(60));
  }
  void update(const AdamWStretch& stretch, const AdamWRule& rule, double squares = 0,
              double loss_squares = 0) {
    update(std::span(&stretch, 1), rule, squares, loss_squares);
  }
  std::array<Values, 4> contents(const AdamWStretch& s) {
    return {values(s.master), values(s.exp_avg), values(s.exp_avg_sq), values(s.compute)};
  }
  void expect_same(const AdamWStretch& actual, const AdamWStretch& expected) {
    expect_near(values(actual.master), values(expected.master), accumulation_tolerance());
    expect_near(values(actual.exp_avg), values(expected.exp_avg), accumulation_tolerance());
    expect_near(values(actual.exp_avg_sq), values(expected.exp_avg_sq), accumulation_tolerance());
    EXPECT_EQ(values(actual.compute), values(tensor(actual.master.shape, values(actual.master))));
  }
};

TEST_P(AdamW, several_steps_match_torchs_formula) {
  const std::int64_t count = 1037;
  AdamWStretch stretch = fresh(normal_values("w", count), Values(count));
  AdamWRule rule{.learning_rate = 1e-2, .weight_decay = 0.1, .tokens = 4};
  std::vector<Parameter> expected;
  for (const double w : values(stretch.master)) expected.push_back({w, 0, 0});
  for (rule.step = 1; rule.step <= 5; ++rule.step) {
    stretch.gradient = accumulator({count}, normal_values(std::to_string(rule.step), count));
    const Values g = values(stretch.gradient);
    update(stretch, rule);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i].update(g[i], rule);
  }
  Values w, m, v;
  for (const Parameter& p : expected) w.push_back(p.w), m.push_back(p.m), v.push_back(p.v);
  expect_near(values(stretch.master), w, accumulation_tolerance());
  expect_near(values(stretch.exp_avg), m, accumulation_tolerance());
  expect_near(values(stretch.exp_avg_sq), v, accumulation_tolerance());
}

TEST_P(AdamW, first_step_moves_by_the_learning_rate_whatever_the_gradients_size) {
  const AdamWStretch stretch = fresh({1.0, 1.0, 1.0}, {1e-4, -1.0, 1e4});
  update(stretch, {.learning_rate = 0.1});
  expect_near(values(stretch.master), {0.9, 1.1, 0.9}, 1e-4);
}

TEST_P(AdamW, the_copy_in_the_compute_type_is_the_rounded_master) {
  const AdamWStretch s = stretch(517, "");
  const Values before = values(s.master);
  update(s, {.learning_rate = 1e-2});
  EXPECT_NE(values(s.master), before);
  EXPECT_EQ(values(s.compute), values(tensor({517}, values(s.master))));
}

TEST_P(AdamW, a_zero_gradient_without_decay_changes_nothing) {
  AdamWStretch stretch = fresh(normal_values("w", 100), Values(100));
  const Values before = values(stretch.master);
  update(stretch, {.learning_rate = 1.0});
  EXPECT_EQ(values(stretch.master), before);
  stretch.decays = false;
  update(stretch, {.learning_rate = 1.0, .weight_decay = 0.5});
  EXPECT_EQ(values(stretch.master), before);
}

TEST_P(AdamW, clips_the_gradient_to_the_norm_of_its_mean) {
  const Values gradient = normal_values("g", 100);
  const double tokens = 8, squares = dot(gradient, gradient), norm = std::sqrt(squares) / tokens;
  for (const double limit : {norm / 3, norm * 3}) {
    const AdamWStretch clipped = fresh(Values(100, 1.0), gradient), plain = fresh(Values(100, 1.0), gradient);
    update(clipped, {.tokens = tokens, .clip_grad = limit}, squares);
    update(plain, {.tokens = tokens / std::min(1.0, limit / (norm + 1e-6))});
    expect_near(values(clipped.exp_avg), values(plain.exp_avg), accumulation_tolerance() * 1e-2);
    EXPECT_NEAR(std::sqrt(dot(values(clipped.exp_avg), values(clipped.exp_avg))) / 0.1, std::min(norm, limit),
                1e-4 * norm);
  }
}

TEST_P(AdamW, changes_not_a_bit_where_norm_or_loss_is_not_finite) {
  const AdamWStretch s = stretch(1037, "");
  update(s, {.learning_rate = 1e-2}, 1.0);
  const auto before = contents(s);
  for (const double bad : {kNaN, kInfinity}) {
    update(s, {.learning_rate = 1e-2, .weight_decay = 0.1, .clip_grad = 1}, bad, 1.0);
    update(s, {.learning_rate = 1e-2, .weight_decay = 0.1}, 1.0, bad);
    EXPECT_EQ(contents(s), before) << bad;
  }
  update(s, {.learning_rate = 1e-2}, 1.0, 1.0);
  EXPECT_NE(contents(s), before) << "the next step is made";
}

// The sharded state cuts parameters anywhere.
TEST_P(AdamW, stretches_are_updated_as_in_one_piece_wherever_they_are_cut) {
  const std::int64_t count = 4000;
  const AdamWStretch whole = stretch(count, ""), cut = stretch(count, "");
  const AdamWRule rule{.learning_rate = 1e-2, .weight_decay = 0.1};
  update(whole, rule);
  std::vector<AdamWStretch> parts;
  const std::vector<std::int64_t> edges{0, 3, 3, 1029, 1032, 4000};
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const Shape range{edges[i + 1] - edges[i]};
    parts.push_back(cut);
    AdamWStretch& part = parts.back();
    for (Tensor* t : {&part.master, &part.gradient, &part.exp_avg, &part.exp_avg_sq, &part.compute})
      *t = t->part(edges[i], range);
  }
  update(parts, rule);
  expect_same(cut, whole);
}

// More than a GPU takes in one launch.
TEST_P(AdamW, many_stretches_of_any_length_go_in_one_call) {
  std::vector<AdamWStretch> together, alone;
  for (int i = 0; i < 130; ++i) {
    const std::int64_t count = i % 17 == 0 ? 2100 + i : 1 + i % 41;
    together.push_back(stretch(count, std::to_string(i)));
    alone.push_back(stretch(count, std::to_string(i)));
    together.back().decays = alone.back().decays = i % 3 == 0;
  }
  const AdamWRule rule{.learning_rate = 1e-2, .weight_decay = 0.5};
  update(together, rule);
  for (const AdamWStretch& s : alone) update(s, rule);
  for (std::size_t i = 0; i < alone.size(); ++i) expect_same(together[i], alone[i]);
}

TENAX_TEST_OPERATION(AdamW);

}  // namespace
}  // namespace tenax::kernels::test
