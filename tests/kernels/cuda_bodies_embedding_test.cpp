#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cuda/embedding_backward_body.hpp"
#include "tests/kernels/cuda_bodies_test.hpp"

namespace tenax::kernels::test {
namespace {

constexpr std::int64_t kVocab = 50, kVocabBegin = 5;

using Tokens = std::vector<std::int32_t>;

// Global token numbers of 3 × length tokens: few of many, so that runs of every length meet the edges of tiles.
Tokens tokens_of(const std::string& kind, std::int64_t count) {
  Tokens tokens;
  const Values random = normal_values(kind, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto draw = static_cast<std::int32_t>(std::abs(random[static_cast<std::size_t>(i)]) * 20);
    if (kind == "all the same") tokens.push_back(17);
    if (kind == "none here") tokens.push_back(i % 2 ? 0 : 400);
    if (kind == "runs of a tile") tokens.push_back(static_cast<std::int32_t>(5 + i / cuda::kTokenTile % 40));
    if (kind == "mostly one") tokens.push_back(draw < 25 ? 12 : draw);
    if (kind == "spread") tokens.push_back(draw);
  }
  return tokens;
}

class EmbeddingBody : public BodyTest {
 protected:
  // As the radix sort leaves them.
  struct Sorted {
    std::vector<std::uint32_t> keys;
    std::vector<std::int32_t> rows;
  };
  static Sorted sorted(const Tokens& tokens) {
    const auto key = [&](std::int32_t row) {
      const std::int64_t token = tokens[static_cast<std::size_t>(row)] - kVocabBegin;
      return static_cast<std::uint32_t>(token >= 0 && token < kVocab ? token : kVocab);
    };
    Sorted result;
    result.rows.resize(tokens.size());
    std::iota(result.rows.begin(), result.rows.end(), 0);
    std::stable_sort(result.rows.begin(), result.rows.end(),
                     [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
    for (const std::int32_t row : result.rows) result.keys.push_back(key(row));
    return result;
  }

  // `backwards`: tiles in the opposite order, as blocks may run.
  template <int kCount, class T>
  void token_gradient(const Tokens& tokens, Tensor d_x, Tensor d_wte, int threads, bool backwards = false) {
    using A = Accumulator<T>;
    const Sorted order = sorted(tokens);
    const auto count = static_cast<std::int64_t>(tokens.size()), tiles = cuda::token_tiles(count);
    const Shape partial_shape{tiles, 2, d_x.columns()};
    // What was not written this time must not be read.
    const Tensor partial =
        accumulator(partial_shape, Values(static_cast<std::size_t>(partial_shape.size()), std::nan("")));
    const cuda::SortedTokens<T> s{order.keys.data(), order.rows.data(), count,         d_x.as<T>(),
                                  d_wte.as<A>(),     partial.as<A>(),   d_x.columns(), std::uint32_t{kVocab}};
    for_group(threads, [&](auto group) {
      for (std::int64_t i = 0; i < tiles; ++i)
        cuda::sum_token_tile<kCount>(group, s, backwards ? tiles - 1 - i : i);
      group.sync();
      for (std::int64_t i = 0; i < tiles; ++i)
        cuda::join_token_tiles<kCount>(group, s, backwards ? tiles - 1 - i : i);
    });
  }
};

TEST_P(EmbeddingBody, forward_matches_the_cpu_bit_for_bit) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    for (const std::int64_t columns : {37, 40})
      for (const bool positions : {true, false}) {
        const Tensor tokens = bench_.tokens({3, 11}, tokens_of("spread", 33));
        const Tensor wte = tensor({kVocab, columns}, normal_values("wte", kVocab * columns));
        const Tensor wpe = tensor({12, columns}, normal_values("wpe", 12 * columns));
        const Tensor expected = output({3, 11, columns});
        cpu().embedding_forward(stream(), {tokens, wte, positions ? wpe : Tensor{}, expected, kVocabBegin});
        for (const int threads : {1, 3})
          for_widths<T>(columns, [&]<int kCount>() {
            const Tensor actual = output({3, 11, columns});
            const cuda::EmbeddingRows<T> e{tokens.as<std::int32_t>(),
                                           wte.as<T>(),
                                           positions ? wpe.as<T>() : nullptr,
                                           actual.as<T>(),
                                           11,
                                           columns,
                                           kVocabBegin,
                                           kVocab};
            for_group(threads, [&](auto group) {
              for (std::int64_t row = 0; row < 33; ++row) cuda::embedding_forward_row<kCount>(group, e, row);
            });
            EXPECT_EQ(values(actual), values(expected));
          });
      }
  });
}

TEST_P(EmbeddingBody, token_gradients_match_the_cpu_whatever_the_tokens_are) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    for (const char* const kind : {"all the same", "none here", "runs of a tile", "mostly one", "spread"})
      for (const std::int64_t count : {1, 32, 96, 333, 1024})
        for (const std::int64_t columns : {3, 40}) {
          const Tokens tokens = tokens_of(kind, count);
          const Tensor d_x = tensor({1, count, columns}, normal_values("d_x", count * columns));
          const Values before(static_cast<std::size_t>(kVocab * columns), 0.5);
          const Tensor expected = accumulator({kVocab, columns}, before);
          cpu().embedding_backward(stream(),
                                   {bench_.tokens({1, count}, tokens), d_x, expected, {}, kVocabBegin});
          for_widths<T>(columns, [&]<int kCount>() {
            const Tensor actual = accumulator({kVocab, columns}, before);
            token_gradient<kCount, T>(tokens, d_x, actual, 1);
            SCOPED_TRACE(std::string(kind) + ", " + std::to_string(count));
            expect_near(values(actual), values(expected), 4 * tolerance());
          });
        }
  });
}

TEST_P(EmbeddingBody, token_gradients_are_the_same_bits_in_any_order_of_tiles_threads_and_widths) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    const std::int64_t count = 700, columns = 40;
    const Tokens tokens = tokens_of("mostly one", count);
    const Tensor d_x = tensor({1, count, columns}, normal_values("d_x", count * columns));
    Values first;
    for (const bool backwards : {false, true})
      for (const int threads : {1, 3})
        for_widths<T>(columns, [&]<int kCount>() {
          const Tensor d_wte = accumulator({kVocab, columns}, Values(kVocab * columns, 0.5));
          token_gradient<kCount, T>(tokens, d_x, d_wte, threads, backwards);
          if (first.empty()) first = values(d_wte);
          EXPECT_EQ(values(d_wte), first);
        });
  });
}

TEST_P(EmbeddingBody, position_gradients_match_the_cpu) {
  with_type(dtype(), [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const std::int64_t length = 5;
    for (const std::int64_t sequences : {1, 7, 8, 19})
      for (const std::int64_t columns : {3, 40}) {
        const std::int64_t count = sequences * length;
        const Tensor d_x = tensor({sequences, length, columns}, normal_values("d_x", count * columns));
        const Values before(static_cast<std::size_t>(length * columns), 0.25);
        const Tensor expected = accumulator({length, columns}, before);
        cpu().embedding_backward(stream(), {bench_.tokens({sequences, length}, tokens_of("spread", count)),
                                            d_x, accumulator({kVocab, columns}), expected, kVocabBegin});
        for (const int threads : {1, 3})
          for_widths<T>(columns, [&]<int kCount>() {
            const Tensor actual = accumulator({length, columns}, before);
            for_group(threads, [&](auto group) {
              for (std::int64_t position = 0; position < length; ++position)
                cuda::sum_position<kCount>(group, d_x.as<T>(), actual.as<A>(), sequences, length, columns,
                                           position);
            });
            expect_near(values(actual), values(expected), 4 * tolerance());
          });
      }
  });
}

TENAX_TEST_BODY(EmbeddingBody);

}  // namespace
}  // namespace tenax::kernels::test
