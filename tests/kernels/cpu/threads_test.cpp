// Each operation of the CPU by teams of several sizes: the bits are those of one thread.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/kernels.hpp"
#include "kernels/update_coefficients.hpp"
#include "tests/kernels/matmul_values.hpp"

namespace tenax::kernels {
namespace {

/// All tensors of an operation, results included, where a training run's would lie: which elements of a loop the
/// compiler leaves to its vectors' ends depends on the address.
struct Array {
  Tensor tensor(Shape shape) const { return memory->tensor(dtype, shape); }
  std::unique_ptr<Buffer> memory;
  DType dtype;
};
using Arrays = std::vector<Array>;
using Operation = std::function<void(Kernels&, Stream&, const Arrays&)>;

std::vector<std::vector<std::byte>> run(int threads, const std::vector<Values>& values,
                                        const Operation& operation) {
  const auto device = create_cpu_device(threads);
  const auto stream = device->create_stream();
  stream->use_threads(device->threads());
  Arrays arrays;
  for (const Values& array : values) {
    arrays.push_back({device->allocate(array.bytes().size()), array.tensor({0}).dtype});
    std::memcpy(arrays.back().memory->data(), array.bytes().data(), array.bytes().size());
  }
  operation(device->kernels(), *stream, arrays);
  std::vector<std::vector<std::byte>> results;
  for (const Array& array : arrays) {
    const auto* const bytes = static_cast<const std::byte*>(array.memory->data());
    results.emplace_back(bytes, bytes + array.memory->bytes());
  }
  return results;
}

void expect_same_bits(const std::vector<Values>& values, const Operation& operation) {
  const auto expected = run(1, values, operation);
  for (const int threads : {2, 3, 4}) {
    const auto actual = run(threads, values, operation);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(actual[i] == expected[i]) << threads << " threads, array " << i;
  }
}

class Threads : public ::testing::TestWithParam<DType> {
 protected:
  Values numbers(std::int64_t count) { return {GetParam(), count, ++seed_}; }
  Values sums(std::int64_t count) { return {accumulation_of(GetParam()), count, ++seed_}; }
  std::uint64_t seed_ = 0;
};

std::vector<std::int32_t> some_tokens(std::int64_t count, std::int32_t vocabulary) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(i * 2654435761U % static_cast<std::uint32_t>(vocabulary));
  return tokens;
}

struct Product {
  std::int64_t m, k, n;
  bool transpose_a = false, transpose_b = false, accumulate = false, has_bias = false;
};

// Every kind of product that a step has, whole and ragged; the last three are the head's.
TEST_P(Threads, change_no_bit_of_a_matrix_product) {
  const DType sum = accumulation_of(GetParam());
  for (const Product& p : {Product{512, 96, 640, false, false, false, true},
                           {300, 70, 130, false, false, false, true},
                           {600, 640, 96, false, true},
                           {290, 100, 70, false, true},
                           {640, 512, 320, true, false, true},
                           {130, 300, 90, true},
                           {1, 64, 700},
                           {200, 48, 9000, false, true},
                           {200, 9000, 48},
                           {9000, 200, 48, true, false, true}}) {
    const DType result = p.transpose_a ? sum : GetParam();
    expect_same_bits({numbers(p.m * p.k), numbers(p.k * p.n), Values(result, p.m * p.n, 3), numbers(p.n)},
                     [&](Kernels& kernels, Stream& stream, const Arrays& v) {
                       kernels.matmul(stream, {v[0].tensor(p.transpose_a ? Shape{p.k, p.m} : Shape{p.m, p.k}),
                                               v[1].tensor(p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n}),
                                               v[2].tensor({p.m, p.n}), p.transpose_a, p.transpose_b,
                                               p.has_bias ? v[3].tensor({p.n}) : Tensor{}, p.accumulate});
                     });
  }
}

TEST_P(Threads, change_no_bit_of_attention) {
  constexpr std::int64_t kSequences = 2, kLength = 200, kHeads = 3, kHidden = kHeads * 32;
  const std::int64_t rows = kSequences * kLength;
  const Shape wide{kSequences, kLength, 3 * kHidden}, narrow{kSequences, kLength, kHidden},
      heads{kSequences, kHeads, kLength};
  expect_same_bits({numbers(rows * 3 * kHidden), numbers(rows * kHidden), sums(kHeads * rows),
                    numbers(rows * kHidden), numbers(rows * 3 * kHidden)},
                   [&](Kernels& kernels, Stream& stream, const Arrays& v) {
                     const Tensor qkv = v[0].tensor(wide), out = v[1].tensor(narrow),
                                  log_sum_exp = v[2].tensor(heads);
                     kernels.attention_forward(stream, {qkv, out, log_sum_exp, kHeads});
                     kernels.attention_backward(
                         stream, {qkv, out, v[3].tensor(narrow), log_sum_exp, v[4].tensor(wide), kHeads});
                   });
}

TEST_P(Threads, change_no_bit_of_layer_norms) {
  constexpr std::int64_t kRows = 200, kColumns = 300;
  const Shape all{kRows, kColumns}, row{kColumns}, column{kRows};
  std::vector<Values> arrays;
  for (int i = 0; i < 7; ++i) arrays.push_back(numbers(kRows * kColumns));  // x, y, delta, sum, y, d_y, d_x
  for (int i = 0; i < 3; ++i) arrays.push_back(numbers(kColumns));          // gamma, beta, bias
  for (int i = 0; i < 2; ++i) arrays.push_back(sums(kRows));                // mean, rstd
  for (int i = 0; i < 2; ++i) arrays.push_back(sums(kColumns));             // d_gamma, d_beta
  expect_same_bits(arrays, [&](Kernels& kernels, Stream& stream, const Arrays& v) {
    const auto whole = [&](std::size_t i) { return v[i].tensor(all); };
    const Tensor gamma = v[7].tensor(row), beta = v[8].tensor(row), bias = v[9].tensor(row),
                 mean = v[10].tensor(column), rstd = v[11].tensor(column);
    kernels.layernorm_forward(stream, {whole(0), gamma, beta, whole(1), mean, rstd});
    kernels.residual_layernorm_forward(
        stream, {whole(0), whole(2), bias, whole(3), gamma, beta, whole(4), mean, rstd});
    kernels.layernorm_backward(stream, {whole(3), mean, rstd, gamma, whole(5), whole(0), whole(6),
                                        v[12].tensor(row), v[13].tensor(row)});
    kernels.residual_add(stream, {whole(0), whole(2), bias, whole(1)});
  });
}

TEST_P(Threads, change_no_bit_of_an_embedding) {
  constexpr std::int64_t kSequences = 3, kLength = 50, kRows = kSequences * kLength, kColumns = 300;
  constexpr std::int32_t kVocabulary = 40;
  auto ids = some_tokens(kRows, kVocabulary);
  const Tensor tokens{ids.data(), DType::i32, {kSequences, kLength}};
  expect_same_bits(
      {numbers(kVocabulary * kColumns), numbers(kLength * kColumns), numbers(kRows * kColumns),
       sums(kVocabulary * kColumns), sums(kLength * kColumns)},
      [&](Kernels& kernels, Stream& stream, const Arrays& v) {
        const Shape all{kRows, kColumns}, words{kVocabulary, kColumns}, positions{kLength, kColumns};
        kernels.embedding_forward(stream,
                                  {tokens, v[0].tensor(words), v[1].tensor(positions), v[2].tensor(all)});
        kernels.embedding_backward(stream,
                                   {tokens, v[2].tensor(all), v[3].tensor(words), v[4].tensor(positions)});
        kernels.bias_gradient(stream, {v[2].tensor(all), v[4].tensor(positions).part(0, {kColumns})});
      });
}

TEST_P(Threads, change_no_bit_of_cross_entropy) {
  constexpr std::int64_t kRows = 70;
  for (const std::int64_t columns : {300, 9000}) {
    auto ids = some_tokens(kRows, static_cast<std::int32_t>(columns));
    const Tensor targets{ids.data(), DType::i32, {kRows}};
    expect_same_bits(
        {numbers(kRows * columns), sums(kRows), sums(kRows), sums(kRows), sums(kRows)},
        [&](Kernels& kernels, Stream& stream, const Arrays& v) {
          const Tensor logits = v[0].tensor({kRows, columns});
          const auto row = [&](std::size_t i) { return v[i].tensor({kRows}); };
          kernels.cross_entropy_forward(stream, {logits, targets, row(1), row(2), row(3), 0, columns});
          kernels.cross_entropy_rescale(stream, {row(1), row(1), row(2)});
          kernels.cross_entropy_loss(stream, {row(1), row(2), row(3), row(2), row(4)});
          kernels.cross_entropy_backward(stream, {logits, targets, row(2), logits, 0, columns});
        });
  }
}

TEST_P(Threads, change_no_bit_of_what_is_done_element_by_element) {
  constexpr std::int64_t kCount = 100003;  // many blocks, the last one ragged
  expect_same_bits({numbers(kCount), numbers(kCount), numbers(kCount), sums(kCount), sums(kCount)},
                   [&](Kernels& kernels, Stream& stream, const Arrays& v) {
                     const auto all = [&](std::size_t i) { return v[i].tensor({kCount}); };
                     kernels.gelu_forward(stream, {all(0), all(1)});
                     kernels.gelu_backward(stream, {all(0), all(1), all(2)});
                     kernels.add(stream, all(1), all(2));
                     kernels.maximum(stream, all(0), all(2));
                     kernels.cast(stream, all(2), all(3));
                     kernels.copy(stream, all(2), all(0));
                     kernels.zero(stream, all(4));
                   });
}

TEST_P(Threads, change_no_bit_of_an_update_and_the_norm_before_it) {
  constexpr std::int64_t kCount = 100003;
  const DType sum = accumulation_of(GetParam());
  const UpdateStep step({.learning_rate = 0.01, .weight_decay = 0.1});
  for (const bool is_lion : {false, true}) {
    std::vector<Values> arrays;
    for (int i = 0; i < 4; ++i) arrays.push_back(sums(kCount));  // master, gradient, moments
    for (std::int64_t i = 0; i < kCount; ++i) arrays[3].set(i, std::abs(arrays[3][i]));
    arrays.push_back(numbers(kCount));
    arrays.emplace_back(DType::f64, 1, 0);
    expect_same_bits(arrays, [&](Kernels& kernels, Stream& stream, const Arrays& v) {
      const auto all = [&](std::size_t i) { return v[i].tensor({kCount}); };
      Values scalars(sum, kUpdateCoefficients, 0);
      const Tensor gradient = all(1), coefficients = scalars.tensor({kUpdateCoefficients});
      kernels.sum_of_squares(stream, {std::span(&gradient, 1), v[5].tensor({1}).as<double>()});
      kernels.update_coefficients(stream, {&step, coefficients});
      UpdateStretch stretch{all(0), gradient, {all(2), is_lion ? Tensor{} : all(3)}, all(4)};
      if (sum == GetParam()) stretch.compute = {};
      const UpdateArgs args{std::span(&stretch, 1), coefficients};
      if (is_lion)
        kernels.lion(stream, args);
      else
        kernels.adamw(stream, args);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(of_each_type, Threads, ::testing::Values(DType::f32, DType::bf16, DType::f64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace tenax::kernels
