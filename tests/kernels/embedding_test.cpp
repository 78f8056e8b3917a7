#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

constexpr std::int64_t kSequences = 3, kLength = 11, kColumns = 37, kVocab = 10, kVocabBegin = 5;

// Tokens 0 … 19, of which the shard holds 5 … 14; many of them several times.
std::vector<std::int32_t> tokens() {
  std::vector<std::int32_t> result;
  for (std::int32_t i = 0; i < kSequences * kLength; ++i) result.push_back(i * 7 % 20);
  return result;
}

class Embedding : public OperationTest {
 protected:
  Tensor tokens_ = bench_.tokens({kSequences, kLength}, tokens());
};

TEST_P(Embedding, forward_adds_token_and_position_and_is_zero_for_other_shards) {
  const Tensor wte = tensor({kVocab, kColumns}, normal_values("wte", kVocab * kColumns));
  const Tensor wpe = tensor({kLength + 4, kColumns}, normal_values("wpe", (kLength + 4) * kColumns));
  const Tensor out = output({kSequences, kLength, kColumns});
  const Values token_rows = values(wte), position_rows = values(wpe);
  for (const bool positions : {true, false}) {
    kernels().embedding_forward(stream(), {.tokens = tokens_,
                                           .wte = wte,
                                           .wpe = positions ? wpe : Tensor{},
                                           .out = out,
                                           .vocab_begin = kVocabBegin});
    Values expected;
    for (std::int64_t row = 0; row < kSequences * kLength; ++row)
      for (std::int64_t i = 0; i < kColumns; ++i) {
        const std::int64_t token = tokens()[static_cast<std::size_t>(row)] - kVocabBegin;
        const bool here = token >= 0 && token < kVocab;
        const double t = here ? token_rows[static_cast<std::size_t>(token * kColumns + i)] : 0.0;
        const double p =
            positions ? position_rows[static_cast<std::size_t>(row % kLength * kColumns + i)] : 0.0;
        expected.push_back(t + p);
      }
    expect_near(values(out), expected, tolerance());
  }
}

TEST_P(Embedding, backward_adds_each_row_to_its_token_and_position) {
  const std::int64_t rows = kSequences * kLength;
  const Tensor d_x = tensor({kSequences, kLength, kColumns}, normal_values("d_x", rows * kColumns));
  const Tensor d_wte = accumulator({kVocab, kColumns}, Values(kVocab * kColumns, 0.5));
  const Tensor d_wpe = accumulator({kLength, kColumns}, Values(kLength * kColumns, 0.25));
  kernels().embedding_backward(
      stream(), {.tokens = tokens_, .d_x = d_x, .d_wte = d_wte, .d_wpe = d_wpe, .vocab_begin = kVocabBegin});
  Values token_rows(kVocab * kColumns, 0.5), position_rows(kLength * kColumns, 0.25);
  const Values d = values(d_x);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < kColumns; ++i) {
      const std::int64_t token = tokens()[static_cast<std::size_t>(row)] - kVocabBegin;
      const double added = d[static_cast<std::size_t>(row * kColumns + i)];
      if (token >= 0 && token < kVocab) token_rows[static_cast<std::size_t>(token * kColumns + i)] += added;
      position_rows[static_cast<std::size_t>(row % kLength * kColumns + i)] += added;
    }
  expect_near(values(d_wte), token_rows, accumulation_tolerance());
  expect_near(values(d_wpe), position_rows, accumulation_tolerance());
}

TEST_P(Embedding, backward_repeats_bit_for_bit) {
  const Tensor d_x =
      tensor({kSequences, kLength, kColumns}, normal_values("d_x", kSequences * kLength * kColumns));
  Values first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Tensor d_wte = accumulator({kVocab, kColumns}, Values(kVocab * kColumns, 0.0));
    kernels().embedding_backward(
        stream(), {.tokens = tokens_, .d_x = d_x, .d_wte = d_wte, .d_wpe = {}, .vocab_begin = kVocabBegin});
    if (repeat == 0) first = values(d_wte);
    EXPECT_EQ(values(d_wte), first);
  }
}

// Enough tokens that a GPU sorts them in several blocks and passes, and one of them so often that its rows fill tiles.
TEST_P(Embedding, backward_adds_up_many_tokens_however_often_each_occurs) {
  const std::int64_t sequences = 24, length = 1000, rows = sequences * length, columns = 16, vocab = 70'000;
  std::vector<std::int32_t> many;
  for (std::int64_t i = 0; i < rows; ++i)
    many.push_back(static_cast<std::int32_t>(i % 3 == 0 ? 66'001 : i * 7919 % vocab));
  const Tensor d_x = tensor({sequences, length, columns}, normal_values("d_x", rows * columns));
  const Tensor d_wte = accumulator({vocab, columns}, Values(static_cast<std::size_t>(vocab * columns)));
  const Tensor d_wpe = accumulator({length, columns}, Values(static_cast<std::size_t>(length * columns)));
  kernels().embedding_backward(stream(), {.tokens = bench_.tokens({sequences, length}, many),
                                          .d_x = d_x,
                                          .d_wte = d_wte,
                                          .d_wpe = d_wpe,
                                          .vocab_begin = 0});
  Values token_rows(static_cast<std::size_t>(vocab * columns)),
      position_rows(static_cast<std::size_t>(length * columns));
  const Values d = values(d_x);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < columns; ++i) {
      const double added = d[static_cast<std::size_t>(row * columns + i)];
      token_rows[static_cast<std::size_t>(many[static_cast<std::size_t>(row)] * columns + i)] += added;
      position_rows[static_cast<std::size_t>(row % length * columns + i)] += added;
    }
  expect_near(values(d_wte), token_rows, accumulation_tolerance());
  expect_near(values(d_wpe), position_rows, accumulation_tolerance());
}

TENAX_TEST_OPERATION(Embedding);

}  // namespace
}  // namespace tenax::kernels::test
