#include <array>
#include <cmath>
#include <limits>
#include <new>

#include "kernels/update_coefficients.hpp"
#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// torch.optim.AdamW, one parameter, in fp64 ("Decoupled weight decay regularization", algorithm 2).
struct Parameter {
  double w, m, v;
  void update(double gradient, const UpdateRule& rule) {
    const double g = gradient / rule.tokens, t = static_cast<double>(rule.step);
    w -= rule.learning_rate * rule.weight_decay * w;
    m = rule.beta1 * m + (1 - rule.beta1) * g;
    v = rule.beta2 * v + (1 - rule.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(rule.beta1, t)), v_hat = v / (1 - std::pow(rule.beta2, t));
    w -= rule.learning_rate * m_hat / (std::sqrt(v_hat) + rule.epsilon);
  }
};

using UpdateOp = void (Kernels::*)(Stream&, const UpdateArgs&);

/// An optimizer and the moments that it has.
struct Method {
  const char* name;
  UpdateOp op;
  std::size_t moments;
};
constexpr Method kAdamW{"adamw", &Kernels::adamw, 2}, kLion{"lion", &Kernels::lion, 1};
constexpr Method kMethods[] = {kAdamW, kLion};

/// Claims that hold of every optimizer.
class WeightUpdate : public OperationTest {
 protected:
  // Moments that are not negative: so may each optimizer's be.
  UpdateStretch stretch(const Method& method, std::int64_t count, const std::string& name) {
    UpdateStretch result{.master = accumulator({count}, normal_values(name + "w", count)),
                         .gradient = accumulator({count}, normal_values(name + "g", count)),
                         .moments = {},
                         .compute = output({count})};
    for (std::size_t i = 0; i < method.moments; ++i) {
      Values squares = normal_values(name + std::to_string(i), count);
      for (double& v : squares) v *= v;
      result.moments[i] = accumulator({count}, squares);
    }
    return result;
  }
  // One whose moments are zero, without a copy.
  UpdateStretch fresh(const Method& method, const Values& weights, const Values& gradient) {
    const auto count = static_cast<std::int64_t>(weights.size());
    UpdateStretch result{.master = accumulator({count}, weights),
                         .gradient = accumulator({count}, gradient),
                         .moments = {},
                         .compute = {}};
    for (std::size_t i = 0; i < method.moments; ++i)
      result.moments[i] = accumulator({count}, Values(weights.size()));
    return result;
  }
  void update(const Method& method, std::span<const UpdateStretch> stretches, const UpdateRule& rule,
              double squares = 0, double loss_squares = 0) {
    const auto pinned = bench_.device().allocate(sizeof(UpdateStep), MemoryKind::pinned_host);
    auto* const step = new (pinned->data()) UpdateStep(rule);
    step->squares = squares;
    step->loss_squares = loss_squares;
    const Tensor coefficients = accumulator({kUpdateCoefficients});
    kernels().update_coefficients(stream(), {step, coefficients});
    (kernels().*method.op)(stream(), {stretches, coefficients});
    stream().synchronize(Deadline::after_s(60));
  }
  void update(const Method& method, const UpdateStretch& stretch, const UpdateRule& rule, double squares = 0,
              double loss_squares = 0) {
    update(method, std::span(&stretch, 1), rule, squares, loss_squares);
  }
  std::vector<Values> contents(const UpdateStretch& s) {
    std::vector<Values> result{values(s.master), values(s.compute)};
    for (const Tensor& moment : s.moments)
      if (moment) result.push_back(values(moment));
    return result;
  }
  void expect_same(const UpdateStretch& actual, const UpdateStretch& expected) {
    expect_near(values(actual.master), values(expected.master), accumulation_tolerance());
    for (std::size_t i = 0; i < kMaxMoments; ++i)
      if (actual.moments[i])
        expect_near(values(actual.moments[i]), values(expected.moments[i]), accumulation_tolerance());
    EXPECT_EQ(values(actual.compute), values(tensor(actual.master.shape, values(actual.master))));
  }
};

class AdamW : public WeightUpdate {};
class Lion : public WeightUpdate {};

TEST_P(AdamW, several_steps_match_torchs_formula) {
  const std::int64_t count = 1037;
  UpdateStretch stretch = fresh(kAdamW, normal_values("w", count), Values(count));
  UpdateRule rule{.learning_rate = 1e-2, .weight_decay = 0.1, .tokens = 4};
  std::vector<Parameter> expected;
  for (const double w : values(stretch.master)) expected.push_back({w, 0, 0});
  for (rule.step = 1; rule.step <= 5; ++rule.step) {
    stretch.gradient = accumulator({count}, normal_values(std::to_string(rule.step), count));
    const Values g = values(stretch.gradient);
    update(kAdamW, stretch, rule);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i].update(g[i], rule);
  }
  Values w, m, v;
  for (const Parameter& p : expected) w.push_back(p.w), m.push_back(p.m), v.push_back(p.v);
  expect_near(values(stretch.master), w, accumulation_tolerance());
  expect_near(values(stretch.moments[0]), m, accumulation_tolerance());
  expect_near(values(stretch.moments[1]), v, accumulation_tolerance());
}

TEST_P(AdamW, first_step_moves_by_the_learning_rate_whatever_the_gradients_size) {
  const UpdateStretch stretch = fresh(kAdamW, {1.0, 1.0, 1.0}, {1e-4, -1.0, 1e4});
  update(kAdamW, stretch, {.learning_rate = 0.1});
  expect_near(values(stretch.master), {0.9, 1.1, 0.9}, 1e-4);
}

// `python3 tests/golden/lion_reference.py --kernel` printed the numbers.
TEST_P(Lion, several_steps_give_the_numbers_of_an_independent_run) {
  const Values gradients[] = {{4, -2, 0, 1, 8, -0.5},
                              {-6, 2, 0, 1.5, -8, 0.25},
                              {0.5, -0.25, 2, -3, 1, 0},
                              {1, 1, -2.5, 4, -1, 2},
                              {-0.125, 0.5, 0, -6, 3, -1}};
  const Values w{0.48291201797574,  -1.3013255994311503, -0.039930600000000004, 2.01, -0.78,
                 3.0299999999999994};
  const Values m{0.0007286491533104547, 0.0008596336848239042, 0.00030253388496029646,
                 -0.003409547269468012, 0.0029826793492873415, 0.000952954823886959};
  const UpdateStretch whole = fresh(kLion, {0.5, -1.25, 0, 2, -0.75, 3}, Values(6));
  UpdateRule rule{.beta2 = 0.99, .weight_decay = 0.1, .tokens = 4, .clip_grad = 0.5};
  for (const Values& gradient : gradients) {
    UpdateStretch halves[] = {whole, whole};
    for (std::int64_t half = 0; half < 2; ++half) {
      UpdateStretch& s = halves[half];
      s.master = whole.master.part(3 * half, {3});
      s.moments[0] = whole.moments[0].part(3 * half, {3});
      s.gradient = accumulator({6}, gradient).part(3 * half, {3});
      s.decays = half == 0;
    }
    rule.learning_rate = 0.01 * static_cast<double>(rule.step);
    update(kLion, halves, rule, dot(gradient, gradient));
    ++rule.step;
  }
  expect_near(values(whole.master), w, accumulation_tolerance());
  expect_near(values(whole.moments[0]), m, accumulation_tolerance());
}

TEST_P(Lion, moves_by_the_learning_rate_along_the_sign_and_not_at_all_where_there_is_none) {
  const UpdateStretch stretch = fresh(kLion, {1, 1, 1, 1}, {1e-4, -1, 1e4, 0});
  update(kLion, stretch, {.learning_rate = 0.25});
  EXPECT_EQ(values(stretch.master), Values({0.75, 1.25, 0.75, 1}));
}

TEST_P(WeightUpdate, leaves_the_rounded_master_in_the_compute_type) {
  for (const Method& method : kMethods) {
    const UpdateStretch s = stretch(method, 517, "");
    const Values before = values(s.master);
    update(method, s, {.learning_rate = 1e-2});
    EXPECT_NE(values(s.master), before) << method.name;
    EXPECT_EQ(values(s.compute), values(tensor({517}, values(s.master)))) << method.name;
  }
}

TEST_P(WeightUpdate, changes_nothing_for_a_zero_gradient_without_decay) {
  for (const Method& method : kMethods) {
    UpdateStretch stretch = fresh(method, normal_values("w", 100), Values(100));
    const Values before = values(stretch.master);
    update(method, stretch, {.learning_rate = 1.0});
    EXPECT_EQ(values(stretch.master), before) << method.name;
    stretch.decays = false;
    update(method, stretch, {.learning_rate = 1.0, .weight_decay = 0.5});
    EXPECT_EQ(values(stretch.master), before) << method.name;
  }
}

// The first moment after a first update is a known share of the gradient: 1 − beta1 with AdamW, 1 − beta2 with Lion.
TEST_P(WeightUpdate, clips_the_gradient_to_the_norm_of_its_mean) {
  const Values gradient = normal_values("g", 100);
  const double tokens = 8, squares = dot(gradient, gradient), norm = std::sqrt(squares) / tokens;
  for (const Method& method : kMethods)
    for (const double limit : {norm / 3, norm * 3}) {
      const UpdateStretch clipped = fresh(method, Values(100, 1.0), gradient),
                          plain = fresh(method, Values(100, 1.0), gradient);
      const UpdateRule rule{.beta1 = 0.9, .beta2 = 0.9, .tokens = tokens, .clip_grad = limit};
      update(method, clipped, rule, squares);
      update(method, plain,
             {.beta1 = 0.9, .beta2 = 0.9, .tokens = tokens / std::min(1.0, limit / (norm + 1e-6))});
      const Values moment = values(clipped.moments[0]);
      expect_near(moment, values(plain.moments[0]), accumulation_tolerance() * 1e-2);
      EXPECT_NEAR(std::sqrt(dot(moment, moment)) / 0.1, std::min(norm, limit), 1e-4 * norm) << method.name;
    }
}

TEST_P(WeightUpdate, changes_not_a_bit_where_norm_or_loss_is_not_finite) {
  for (const Method& method : kMethods) {
    const UpdateStretch s = stretch(method, 1037, "");
    update(method, s, {.learning_rate = 1e-2}, 1.0);
    const auto before = contents(s);
    for (const double bad : {kNaN, kInfinity}) {
      update(method, s, {.learning_rate = 1e-2, .weight_decay = 0.1, .clip_grad = 1}, bad, 1.0);
      update(method, s, {.learning_rate = 1e-2, .weight_decay = 0.1}, 1.0, bad);
      EXPECT_EQ(contents(s), before) << method.name << ' ' << bad;
    }
    update(method, s, {.learning_rate = 1e-2}, 1.0, 1.0);
    EXPECT_NE(contents(s), before) << method.name << ": the next step is made";
  }
}

// The sharded state cuts parameters anywhere.
TEST_P(WeightUpdate, updates_stretches_as_in_one_piece_wherever_they_are_cut) {
  const std::int64_t count = 4000;
  const UpdateRule rule{.learning_rate = 1e-2, .weight_decay = 0.1};
  for (const Method& method : kMethods) {
    const UpdateStretch whole = stretch(method, count, ""), cut = stretch(method, count, "");
    update(method, whole, rule);
    std::vector<UpdateStretch> parts;
    const std::vector<std::int64_t> edges{0, 3, 3, 1029, 1032, 4000};
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const Shape range{edges[i + 1] - edges[i]};
      parts.push_back(cut);
      UpdateStretch& part = parts.back();
      for (Tensor* t : {&part.master, &part.gradient, &part.compute}) *t = t->part(edges[i], range);
      for (std::size_t m = 0; m < method.moments; ++m)
        part.moments[m] = part.moments[m].part(edges[i], range);
    }
    update(method, parts, rule);
    expect_same(cut, whole);
  }
}

// More than a GPU takes in one launch.
TEST_P(WeightUpdate, takes_many_stretches_of_any_length_in_one_call) {
  const UpdateRule rule{.learning_rate = 1e-2, .weight_decay = 0.5};
  for (const Method& method : kMethods) {
    std::vector<UpdateStretch> together, alone;
    for (int i = 0; i < 130; ++i) {
      const std::int64_t count = i % 17 == 0 ? 2100 + i : 1 + i % 41;
      together.push_back(stretch(method, count, std::to_string(i)));
      alone.push_back(stretch(method, count, std::to_string(i)));
      together.back().decays = alone.back().decays = i % 3 == 0;
    }
    update(method, together, rule);
    for (const UpdateStretch& s : alone) update(method, s, rule);
    for (std::size_t i = 0; i < alone.size(); ++i) expect_same(together[i], alone[i]);
  }
}

TENAX_TEST_OPERATION(WeightUpdate);
TENAX_TEST_OPERATION(AdamW);
TENAX_TEST_OPERATION(Lion);

}  // namespace
}  // namespace tenax::kernels::test
