#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cuda/weight_update_body.hpp"
#include "kernels/update_coefficients.hpp"
#include "tests/kernels/cuda_bodies_test.hpp"

namespace tenax::kernels::test {
namespace {

using cuda::kUpdateBlock;
using cuda::UpdatePiece;
using cuda::UpdateRounding;
using cuda::UpdateTable;

constexpr UpdateRule kRule{.learning_rate = 1e-2, .weight_decay = 0.1, .tokens = 4, .step = 3};

/// Calls f(Element{}, the CPU's operation) for each optimizer.
template <class Function>
void for_optimizers(const Function& f) {
  f(cuda::AdamWElement{}, &Kernels::adamw);
  f(cuda::LionElement{}, &Kernels::lion);
}

using UpdateOp = void (Kernels::*)(Stream&, const UpdateArgs&);

class UpdateBody : public BodyTest {
 protected:
  // A state of `count` elements that begins `offset` elements into its memory.
  UpdateStretch state(std::int64_t count, std::int64_t offset, bool with_copy) {
    const auto part = [&](Tensor whole) { return whole.part(offset, {count}); };
    const Shape all{count + offset};
    Values squares = normal_values("v", count + offset);
    for (double& v : squares) v *= v;
    return {.master = part(accumulator(all, normal_values("w", count + offset))),
            .gradient = part(accumulator(all, normal_values("g", count + offset))),
            .moments = {part(accumulator(all, normal_values("m", count + offset))),
                        part(accumulator(all, squares))},
            .compute = with_copy ? part(output(all)) : Tensor{}};
  }
  // Lengths, alignments and decay as they come, `count` of them.
  std::vector<UpdateStretch> states(int count) {
    std::vector<UpdateStretch> result;
    for (int i = 0; i < count; ++i) {
      const std::int64_t length = i % 7 == 0 ? 0 : i % 11 == 0 ? 1024 + i : 1 + i % 37;
      result.push_back(state(length, i % 4 == 1 ? 1 : 0, true));
      result.back().decays = i % 3 != 0;
    }
    return result;
  }

  // As a launch for each table, block by block.
  template <class Element, class T>
  void run(std::span<const UpdateStretch> stretches, const UpdateStep& step, int threads,
           const UpdateRounding& rounding = {}) {
    const auto coefficients = coefficients_of<Accumulator<T>>(step);
    std::vector<UpdatePiece<T>> pieces;
    for (const UpdateStretch& stretch : stretches) pieces.push_back(cuda::piece_of<Element, T>(stretch));
    for_group(threads, [&](auto group) {
      cuda::for_tables<UpdateTable<T>>(
          pieces, kUpdateBlock, [&](const UpdateTable<T>& table, std::uint32_t blocks) {
            for (std::uint32_t block = 0; block < blocks; ++block)
              cuda::update_block_of_table<Element>(group, table, coefficients, rounding, block);
          });
    });
  }
  void run_on_cpu(UpdateOp op, std::span<const UpdateStretch> stretches, const UpdateStep& step) {
    const Tensor coefficients = accumulator({kUpdateCoefficients});
    cpu().update_coefficients(stream(), {&step, coefficients});
    (cpu().*op)(stream(), {stretches, coefficients});
  }
  void expect_same(const UpdateStretch& actual, const UpdateStretch& expected) {
    expect_near(values(actual.master), values(expected.master), tolerance());
    for (std::size_t i = 0; i < kMaxMoments; ++i)
      expect_near(values(actual.moments[i]), values(expected.moments[i]), tolerance());
    if (!actual.compute) return;
    EXPECT_EQ(values(actual.compute), values(tensor(actual.master.shape, values(actual.master))));
  }
};

TEST_P(UpdateBody, updates_as_the_cpu_does_any_count_alignment_and_number_of_threads) {
  const auto check = [&](auto element, auto type, UpdateOp op) {
    for (const std::int64_t count : {1, 3, 1024, 1037, 2051})
      for (const std::int64_t offset : {0, 1})
        for (const int threads : {1, 3})
          for (const bool with_copy : {true, false}) {
            const UpdateStretch expected = state(count, offset, with_copy),
                                actual = state(count, offset, with_copy);
            run_on_cpu(op, std::span(&expected, 1), UpdateStep(kRule));
            run<decltype(element), decltype(type)>(std::span(&actual, 1), UpdateStep(kRule), threads);
            expect_same(actual, expected);
          }
  };
  with_type(dtype(),
            [&](auto type) { for_optimizers([&](auto element, UpdateOp op) { check(element, type, op); }); });
}

TEST_P(UpdateBody, updates_more_stretches_than_a_table_has_room_for) {
  with_type(dtype(), [&](auto type) {
    for_optimizers([&](auto element, UpdateOp op) {
      for (const int threads : {1, 3}) {
        const std::vector<UpdateStretch> expected = states(150), actual = states(150);
        run_on_cpu(op, expected, UpdateStep(kRule));
        run<decltype(element), decltype(type)>(actual, UpdateStep(kRule), threads);
        for (std::size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
      }
    });
  });
}

TEST_P(UpdateBody, fills_tables_in_order_and_gives_every_element_to_one_block) {
  with_type(dtype(), [&](auto type) {
    using Table = UpdateTable<decltype(type)>;
    std::vector<UpdatePiece<decltype(type)>> pieces(3 * Table::kMost);
    std::int64_t number = 0, blocks_wanted = 0;
    for (auto& piece : pieces) {
      piece.count = number % 5 == 0 ? 0 : number * 300;
      piece.first_element = number++;
      blocks_wanted += (piece.count + kUpdateBlock - 1) / kUpdateBlock;
    }
    std::int64_t tables = 0, blocks_seen = 0, last = 0;
    cuda::for_tables<Table>(pieces, kUpdateBlock, [&](const Table& table, std::uint32_t blocks) {
      ++tables;
      blocks_seen += blocks;
      for (std::uint32_t block = 0; block < blocks; ++block) {
        const int i = cuda::piece_of(table, block);
        const std::int64_t begin = (block - table.first_block[i]) * kUpdateBlock;
        EXPECT_TRUE(begin >= 0 && begin < table.pieces[i].count);
        EXPECT_GE(table.pieces[i].first_element, last);
        last = table.pieces[i].first_element;
      }
    });
    EXPECT_EQ(blocks_seen, blocks_wanted);
    EXPECT_EQ(tables, 3) << "empty pieces take no room";
  });
}

TEST_P(UpdateBody, leaves_what_lies_around_its_elements_alone) {
  with_type(dtype(), [&](auto type) {
    const Tensor master = accumulator({20}, Values(20, 7.0));
    UpdateStretch stretch = state(11, 0, false);
    stretch.master = master.part(5, {11});
    run<cuda::AdamWElement, decltype(type)>(std::span(&stretch, 1), UpdateStep(kRule), 2);
    const Values after = values(master);
    for (const std::size_t i : {4u, 16u}) EXPECT_EQ(after[i], 7.0);
    for (const std::size_t i : {5u, 15u}) EXPECT_NE(after[i], 7.0);
  });
}

TEST_P(UpdateBody, changes_nothing_where_the_norm_is_not_finite) {
  with_type(dtype(), [&](auto type) {
    const UpdateStretch stretch = state(1037, 0, true);
    const Values w = values(stretch.master), m = values(stretch.moments[0]), v = values(stretch.moments[1]);
    spoil(stretch.compute);
    const Values copy = values(stretch.compute);
    UpdateStep step(kRule);
    step.squares = std::nan("");
    run<cuda::AdamWElement, decltype(type)>(std::span(&stretch, 1), step, 3, {.stochastic = true});
    EXPECT_EQ(values(stretch.master), w);
    EXPECT_EQ(values(stretch.moments[0]), m);
    EXPECT_EQ(values(stretch.moments[1]), v);
    EXPECT_EQ(values(stretch.compute), copy);
  });
}

TENAX_TEST_BODY(UpdateBody);

class StochasticRounding : public UpdateBody {
 protected:
  // The bf16 copies of `count` weights that an update without gradient leaves as they are; `offset`: elements into their
  // memory, where an odd one makes threads go one by one.
  Values copies(double weight, std::int64_t count, std::uint64_t seed, std::int64_t step, int threads = 1,
                std::int64_t first_element = 0, std::int64_t offset = 0) {
    const Shape all{count + offset};
    const Values zeros(static_cast<std::size_t>(count + offset));
    const UpdateStretch stretch{
        .master = accumulator(all, Values(zeros.size(), weight)).part(offset, {count}),
        .gradient = accumulator(all, zeros).part(offset, {count}),
        .moments = {accumulator(all, zeros).part(offset, {count}),
                    accumulator(all, zeros).part(offset, {count})},
        .compute = output(all).part(offset, {count}),
        .first_element = first_element};
    run<cuda::LionElement, bf16_t>(std::span(&stretch, 1), UpdateStep({.step = step}), threads, {true, seed});
    return values(stretch.compute);
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
  EXPECT_EQ(copies(weight, 3001, 7, 4, 3), draws) << "on three threads";
  EXPECT_EQ(copies(weight, 3001, 7, 4, 3, 0, 1), draws) << "one by one";
  EXPECT_EQ(Values(draws.begin(), draws.begin() + 17), copies(weight, 17, 7, 4)) << "of a shorter range";
  EXPECT_NE(copies(weight, 3001, 8, 4), draws);
  EXPECT_NE(copies(weight, 3001, 7, 5), draws);
}

TEST_P(StochasticRounding, draws_the_same_for_an_element_whichever_shard_it_is_in) {
  const double weight = 1.0 + 0x1p-9;
  const Values whole = copies(weight, 301, 7, 4);
  for (const std::int64_t cut : {4, 7, 128}) {
    const Values part = copies(weight, 301 - cut, 7, 4, 2, cut);
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
