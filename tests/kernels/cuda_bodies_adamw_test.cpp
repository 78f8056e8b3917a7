#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cuda/adamw_body.hpp"
#include "tests/kernels/cuda_bodies_test.hpp"

namespace tenax::kernels::test {
namespace {

using cuda::AdamWUpdate;
using cuda::kAdamWBlock;

class AdamWBody : public BodyTest {
 protected:
  // A state of `count` elements that begins `offset` elements into its memory.
  AdamWArgs state(std::int64_t count, std::int64_t offset, bool with_copy) {
    const auto part = [&](Tensor whole) { return whole.part(offset, {count}); };
    const Shape all{count + offset};
    Values squares = normal_values("v", count + offset);
    for (double& v : squares) v *= v;
    return {.master = part(accumulator(all, normal_values("w", count + offset))),
            .gradient = part(accumulator(all, normal_values("g", count + offset))),
            .exp_avg = part(accumulator(all, normal_values("m", count + offset))),
            .exp_avg_sq = part(accumulator(all, squares)),
            .compute = with_copy ? part(output(all)) : Tensor{},
            .learning_rate = 1e-2,
            .weight_decay = 0.1,
            .gradient_scale = 0.25,
            .step = 3};
  }

  template <int kCount, class T>
  void run(const AdamWArgs& args, int threads, bool stochastic = false, std::uint64_t seed = 1) {
    using A = Accumulator<T>;
    const AdamWUpdate<T> update{args.master.as<A>(),
                                args.gradient.as<A>(),
                                args.exp_avg.as<A>(),
                                args.exp_avg_sq.as<A>(),
                                args.compute ? args.compute.as<T>() : nullptr,
                                args.master.size(),
                                AdamWCoefficients<A>(args),
                                stochastic,
                                seed,
                                args.step,
                                args.first_element};
    for_group(threads, [&](auto group) {
      for (std::int64_t block = 0; block * kAdamWBlock < update.count; ++block)
        cuda::adamw_block<kCount>(group, update, block);
    });
  }
};

TEST_P(AdamWBody, updates_as_the_cpu_does_any_count_width_and_number_of_threads) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    for (const std::int64_t count : {1, 3, 1024, 1037, 2051})
      for (const int threads : {1, 3})
        for (const bool with_copy : {true, false}) {
          const AdamWArgs expected = state(count, 0, with_copy);
          cpu().adamw(stream(), expected);
          for_widths<T, cuda::kAdamWWidth>(0, [&]<int kCount>() {
            const AdamWArgs actual = state(count, 0, with_copy);
            run<kCount, T>(actual, threads);
            expect_near(values(actual.master), values(expected.master), tolerance());
            expect_near(values(actual.exp_avg), values(expected.exp_avg), tolerance());
            expect_near(values(actual.exp_avg_sq), values(expected.exp_avg_sq), tolerance());
            if (with_copy) {
              EXPECT_EQ(values(actual.compute), values(tensor({count}, values(actual.master))));
            }
          });
        }
  });
}

TEST_P(AdamWBody, leaves_what_lies_around_its_elements_alone) {
  with_type(dtype(), [&](auto type) {
    const Tensor master = accumulator({20}, Values(20, 7.0));
    AdamWArgs args = state(11, 0, false);
    args.master = master.part(5, {11});
    run<1, decltype(type)>(args, 2);
    const Values after = values(master);
    for (const std::size_t i : {4u, 16u}) EXPECT_EQ(after[i], 7.0);
    for (const std::size_t i : {5u, 15u}) EXPECT_NE(after[i], 7.0);
  });
}

TENAX_TEST_BODY(AdamWBody);

class StochasticRounding : public AdamWBody {
 protected:
  // The bf16 copies of `count` weights that an update without gradient leaves as they are.
  Values copies(double weight, std::int64_t count, std::uint64_t seed, std::int64_t step, int threads = 1,
                std::int64_t first_element = 0) {
    AdamWArgs args{.master = accumulator({count}, Values(static_cast<std::size_t>(count), weight)),
                   .gradient = accumulator({count}, Values(static_cast<std::size_t>(count))),
                   .exp_avg = accumulator({count}, Values(static_cast<std::size_t>(count))),
                   .exp_avg_sq = accumulator({count}, Values(static_cast<std::size_t>(count))),
                   .compute = output({count}),
                   .step = step,
                   .first_element = first_element};
    if (threads > 1)
      run<1, bf16_t>(args, threads, true, seed);
    else
      run<cuda::kAdamWWidth, bf16_t>(args, 1, true, seed);
    return values(args.compute);
  }
};

double mean(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST_P(StochasticRounding, keeps_the_mean_of_values_between_two_neighbours) {
  const std::int64_t count = 1 << 16;
  for (const double sign : {1.0, -1.0})
    for (const double fraction : {0.0, 1.0 / 65536, 0.25, 0.5, 0.9, 65535.0 / 65536}) {
      const double low = sign * 1.5, step = sign * 0x1p-7;  // of bf16 between 1 and 2
      const float weight = static_cast<float>(low + fraction * step);
      const Values rounded = copies(weight, count, 1, 3);
      for (const double value : rounded) EXPECT_TRUE(value == low || value == low + step) << value;
      const double deviation = std::sqrt(fraction * (1 - fraction) / static_cast<double>(count));
      EXPECT_NEAR((mean(rounded) - low) / step, fraction, 5 * deviation + 1e-7) << sign << ' ' << fraction;
    }
}

TEST_P(StochasticRounding, over_the_steps_each_element_averages_to_its_weight) {
  const double weight = static_cast<double>(1.0f + 0x1p-7f * 0.3f);
  Values sums(64);
  const int steps = 4096;
  for (int step = 1; step <= steps; ++step) {
    const Values rounded = copies(weight, 64, 5, step);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += rounded[i] / steps;
  }
  const double deviation = 0x1p-7 * std::sqrt(0.3 * 0.7 / steps);
  for (const double average : sums) EXPECT_NEAR(average, weight, 5 * deviation);
}

TEST_P(StochasticRounding, draws_depend_on_seed_step_and_index_only) {
  const double weight = 1.0 + 0x1p-8;
  const Values draws = copies(weight, 3001, 7, 4);
  EXPECT_EQ(copies(weight, 3001, 7, 4, 3), draws) << "one by one, on three threads";
  EXPECT_EQ(Values(draws.begin(), draws.begin() + 17), copies(weight, 17, 7, 4)) << "of a shorter range";
  EXPECT_NE(copies(weight, 3001, 8, 4), draws);
  EXPECT_NE(copies(weight, 3001, 7, 5), draws);
}

TEST_P(StochasticRounding, draws_the_same_for_an_element_whichever_shard_it_is_in) {
  const double weight = 1.0 + 0x1p-9;
  const Values whole = copies(weight, 301, 7, 4);
  for (const std::int64_t cut : {4, 7, 128}) {
    const int threads = cut % cuda::kAdamWWidth == 0 ? 1 : 2;  // 2: one element at a time
    const Values part = copies(weight, 301 - cut, 7, 4, threads, cut);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + cut)) << cut;
  }
}

TEST_P(StochasticRounding, keeps_what_bf16_holds_and_what_is_not_finite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, 1.5f, -2.0f, 0x1p-130f, infinity, -infinity})
    for (const std::uint32_t bits : {0u, 0x80000000u, 0xffffffffu})
      EXPECT_EQ(std::bit_cast<std::uint32_t>(cuda::round_at_random(value, bits)),
                std::bit_cast<std::uint32_t>(value));
  EXPECT_TRUE(std::isnan(cuda::round_at_random(std::nanf(""), 0xffffffffu)));
  EXPECT_TRUE(std::isnan(cuda::round_at_random(std::bit_cast<float>(0x7f800001u), 0u)));
}

INSTANTIATE_TEST_SUITE_P(, StochasticRounding, testing::Values(DType::bf16),
                         [](const auto&) { return "bf16"; });

}  // namespace
}  // namespace tenax::kernels::test
