// The bodies of the GPU's elementwise operations and sums, on the host's threads, against the CPU back end.
#include "kernels/cuda/column_sums_body.hpp"
#include "kernels/cuda/elementwise_body.hpp"
#include "kernels/cuda/sum_of_squares_body.hpp"
#include "tests/kernels/cuda_bodies_test.hpp"

namespace tenax::kernels::test {
namespace {

using namespace cuda;

class CudaElementBodies : public BodyTest {
 protected:
  // Every slice, as the blocks of a launch take them; then the same element by element.
  template <class Op, class Check>
  static void run(const Op& op, std::int64_t count, const Tensor& result, const Check& expected) {
    const auto check = [&] {
      expected();
      spoil(result);
    };
    const auto slices = [&](auto group, auto width) {
      for (std::int64_t begin = 0; begin < count; begin += kSlice)
        apply_to_slice<decltype(width)::value>(group, op, begin, std::min(count, begin + kSlice));
    };
    for_each_group([&](auto group) { slices(group, std::integral_constant<int, 1>{}); }, check);
    if constexpr (Op::kMayPack)
      for_each_group([&](auto group) { slices(group, std::integral_constant<int, kWidth>{}); }, check);
  }
  /// Of results rounded to the compute type, which may fall to either side.
  double tolerance_in_type() const { return dtype() == DType::bf16 ? 1e-2 : tolerance(); }
  Tensor inputs(const std::string& name, std::int64_t count) {
    return tensor({count}, normal_values(name, count, 0.0, 3.0));
  }
};

constexpr std::int64_t kCounts[] = {1, 7, 8, 13, 8191, 8192, 8195, 20001};

TEST_P(CudaElementBodies, gelu_and_its_gradient_are_the_cpus) {
  for (const std::int64_t count : kCounts) {
    const Tensor x = inputs("x", count), d_y = inputs("d_y", count);
    const Tensor y = output({count}), d_x = output({count}), result = output({count});
    cpu().gelu_forward(stream(), {.x = x, .y = y});
    cpu().gelu_backward(stream(), {.x = x, .d_y = d_y, .d_x = d_x});
    with_type(dtype(), [&](auto type) {
      using T = decltype(type);
      run(GeluForward<T>{x.as<T>(), result.as<T>()}, count, result,
          [&] { expect_near(values(result), values(y), tolerance_in_type()); });
      run(Combination<T, GeluGradient<T>>{x.as<T>(), d_y.as<T>(), result.as<T>()}, count, result,
          [&] { expect_near(values(result), values(d_x), tolerance_in_type()); });
    });
  }
}

TEST_P(CudaElementBodies, sums_and_maxima_are_the_cpus_bit_for_bit) {
  for (const std::int64_t count : kCounts) {
    const Tensor a = inputs("a", count), sum = inputs("b", count), larger = inputs("b", count);
    const Tensor b = inputs("b", count), result = output({count});
    cpu().add(stream(), a, sum);
    cpu().maximum(stream(), a, larger);
    with_type(dtype(), [&](auto type) {
      using T = decltype(type);
      run(Combination<T, Sum>{a.as<T>(), b.as<T>(), result.as<T>()}, count, result,
          [&] { EXPECT_EQ(values(result), values(sum)); });
      run(Combination<T, Maximum>{a.as<T>(), b.as<T>(), result.as<T>()}, count, result,
          [&] { EXPECT_EQ(values(result), values(larger)); });
    });
  }
}

TEST_P(CudaElementBodies, chunk_sums_are_the_cpus_bit_for_bit) {
  if (dtype() == DType::bf16) return;
  for (const std::int64_t count : kCounts) {
    const Tensor own = inputs("own", count), incoming = inputs("incoming", count), result = output({count});
    const Tensor expected = output({count});
    for (const bool before : {false, true})
      for (const bool after : {false, true}) {
        cpu().chunk_sum(stream(), {own, incoming, expected, before, after});
        with_type(dtype(), [&](auto type) {
          using T = decltype(type);
          run(ChunkSum<T, T>{own.as<T>(), incoming.as<T>(), result.as<T>(), before, after}, count, result,
              [&] { EXPECT_EQ(values(result), values(expected)); });
        });
      }
    if (dtype() != DType::f32) continue;
    const Tensor narrow = bench_.tensor(DType::bf16, {count}, values(incoming));
    cpu().chunk_sum(stream(), {own, narrow, expected, false, true});
    run(ChunkSum<float, bf16_t>{own.as<float>(), narrow.as<bf16_t>(), result.as<float>(), false, true}, count,
        result, [&] { EXPECT_EQ(values(result), values(expected)); });
  }
}

TEST_P(CudaElementBodies, casts_are_the_cpus_bit_for_bit) {
  const std::int64_t count = 8195;
  const Tensor from = tensor({count}, normal_values("x", count, 0.0, 100.0));
  for (const DType to : {DType::f32, DType::bf16, DType::f64}) {
    if (to == dtype()) continue;
    const Tensor expected = bench_.poisoned(to, {count}), actual = bench_.poisoned(to, {count});
    cpu().cast(stream(), from, expected);
    with_type(dtype(), [&](auto from_type) {
      with_type(to, [&](auto to_type) {
        using From = decltype(from_type);
        using To = decltype(to_type);
        run(Cast<From, To>{from.as<From>(), actual.as<To>()}, count, actual,
            [&] { EXPECT_EQ(values(actual), values(expected)); });
      });
    });
  }
}

TEST_P(CudaElementBodies, residual_sums_are_the_cpus) {
  for (const std::int64_t columns : {8, 24, 4096}) {
    const std::int64_t rows = 9, count = rows * columns;
    const Tensor x = tensor({rows, columns}, normal_values("x", count)),
                 delta = tensor({rows, columns}, normal_values("delta", count)),
                 bias = tensor({columns}, normal_values("bias", columns));
    const Tensor expected = output({rows, columns}), actual = output({rows, columns});
    cpu().residual_add(stream(), {.x = x, .delta = delta, .bias = bias, .out = expected});
    with_type(dtype(), [&](auto type) {
      using T = decltype(type);
      run(ResidualSum<T>{x.as<T>(), delta.as<T>(), bias.as<T>(), actual.as<T>(), columns}, count, actual,
          [&] { expect_near(values(actual), values(expected), tolerance_in_type()); });
    });
  }
}

class CudaSquareBodies : public BodyTest {
 protected:
  // Slices of every table, then their sums, as the launches do it.
  template <class T, class Group>
  static void sum(Group group, std::span<const Tensor> parts, std::int64_t slice, std::vector<double>& sums,
                  double& total) {
    std::size_t done = 0;
    for_tables<SquareTable<T>>(square_pieces<T>(parts), slice,
                               [&](const SquareTable<T>& table, std::uint32_t blocks) {
                                 for (std::uint32_t block = 0; block < blocks; ++block, ++done) {
                                   const double sum = square_sum_of_block(group, table, slice, block);
                                   if (group.rank() == 0) sums[done] = sum;
                                 }
                               });
    group.sync();
    const double sum = plain_sum(group, sums.data(), static_cast<std::int64_t>(done));
    if (group.rank() == 0) total = sum;
  }
  void expect_sum(std::span<const Tensor> parts) {
    double expected = 0;
    for (const Tensor& part : parts)
      if (part.size() > 0) expected += dot(values(part), values(part));
    with_type(dtype(), [&](auto type) {
      std::vector<double> sums(1000, std::nan(""));
      double total = -1;
      for_each_group([&](auto group) { sum<decltype(type)>(group, parts, 1024, sums, total); },
                     [&] {
                       EXPECT_NEAR(total, expected, 1e-13 * expected);
                       total = -1;
                       sums.assign(sums.size(), std::nan(""));
                     });
    });
  }
};

TEST_P(CudaSquareBodies, are_summed_in_double_precision_whatever_the_length_and_alignment) {
  for (const std::int64_t count : {0, 1, 7, 8, 1024, 1029, 4100})
    for (const std::int64_t offset : {0, 1, 8}) {
      const Tensor x = tensor({count + offset}, normal_values("x", count + offset)).part(offset, {count});
      expect_sum(std::span(&x, 1));
    }
}

TEST_P(CudaSquareBodies, are_summed_over_more_parts_than_a_table_has_room_for) {
  const Tensor x = tensor({20000}, normal_values("x", 20000));
  std::vector<Tensor> parts;
  for (int i = 0; i < 400; ++i) parts.push_back(x.part(40 * i + i % 3, {i % 29}));
  expect_sum(parts);
}

TEST_P(CudaSquareBodies, take_parts_that_lie_together_as_one) {
  const Tensor x = tensor({3000}, normal_values("x", 3000));
  const std::vector<Tensor> parts{x.part(0, {1000}), x.part(1000, {500}), x.part(1504, {100}),
                                  x.part(1604, {1}), x.part(1605, {1395})};
  with_type(dtype(), [&](auto type) {
    const auto pieces = square_pieces<decltype(type)>(parts);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].count, 1500);
    EXPECT_EQ(pieces[1].count, 1496);
  });
  expect_sum(parts);
}

class CudaColumnSumBodies : public BodyTest {
 protected:
  // Chunks of rows, and then their sums.
  template <int kCount, class T, class Group>
  static void run(Group group, const Tensor& d_y, std::int64_t chunk_rows,
                  std::vector<Accumulator<T>>& partials, const ChunkSums<Accumulator<T>>& sums) {
    for (std::int64_t chunk = 0; chunk < sums.count; ++chunk)
      for (std::int64_t column = 0; column < sums.columns; column += kCount) {
        const std::int64_t begin = chunk * chunk_rows, rows = std::min(chunk_rows, d_y.rows() - begin);
        const auto chunk_sums =
            sum_columns<kCount>(group, d_y.as<T>() + begin * sums.columns + column, sums.columns, rows);
        if (group.rank() == 0) store(partials.data() + chunk * sums.columns + column, chunk_sums);
      }
    group.sync();
    for (std::int64_t column = 0; column < sums.width() + 5; ++column) sum_chunks(group, sums, column);
  }
};

TEST_P(CudaColumnSumBodies, are_the_cpus_bias_gradients) {
  const std::int64_t rows = 103, chunk_rows = 10, chunks = 11;
  for (const std::int64_t columns : {1, 5, 8, 40, 67}) {
    const Tensor d_y = tensor({rows, columns}, normal_values("d_y", rows * columns));
    const Tensor expected = accumulator({columns});
    cpu().bias_gradient(stream(), {.d_y = d_y, .d_bias = expected, .accumulate = false});
    with_type(dtype(), [&](auto type) {
      using T = decltype(type);
      using A = Accumulator<T>;
      std::vector<A> partials(static_cast<std::size_t>(chunks * columns), -99);
      const Tensor actual = accumulator({columns});
      const ChunkSums<A> sums{partials.data(), chunks, columns, actual.as<A>(), nullptr, false};
      for_widths<T>(columns, [&]<int kCount>() {
        for_each_group([&](auto group) { run<kCount, T>(group, d_y, chunk_rows, partials, sums); },
                       [&] {
                         expect_near(values(actual), values(expected), tolerance());
                         spoil(actual);
                       });
      });
    });
  }
}

TEST_P(CudaColumnSumBodies, add_to_what_is_there_when_asked) {
  with_type(accumulation(), [&](auto type) {
    using A = decltype(type);
    if constexpr (!std::is_same_v<A, bf16_t>) {
      const std::vector<A> partials{1, 2, 3, 10, 20, 30};
      std::vector<A> first{100, 200, 300};
      const ChunkSums<A> sums{partials.data(), 2, 3, first.data(), nullptr, true};
      for (std::int64_t column = 0; column < 3; ++column) sum_chunks(SingleThread{}, sums, column);
      EXPECT_EQ(first, (std::vector<A>{111, 222, 333}));
    }
  });
}

TENAX_TEST_BODY(CudaElementBodies);
TENAX_TEST_BODY(CudaSquareBodies);
TENAX_TEST_BODY(CudaColumnSumBodies);

}  // namespace
}  // namespace tenax::kernels::test
