// Backward attention of one head of one sequence.
//
// Weights are recomputed from the log-sum-exp, a tile of queries × keys at a time (Dao et al.,
// "FlashAttention", 2022, algorithm 4): blocks of keys outside, so that d_k and d_v of a block stay in
// the cache until they are complete, blocks of queries from the diagonal on inside, with d_q summed over
// the whole head.
#pragma once

#include "kernels/cpu/attention_pack.hpp"
#include "kernels/cpu/exponential.hpp"

namespace tenax::kernels {

/// One head's rows, each [T, head_size]. The gradients may be the memory of q, k and v.
template <class Element>
struct BackwardHeadRows {
  HeadRows<const Element> q, k, v, out, d_out;
  HeadRows<Element> d_q, d_k, d_v;
};

template <class Tile>
class AttentionBackwardHead {
 public:
  using Real = typename Tile::Real;
  using Unit = typename Tile::Unit;

  template <class Element>
  void run(const BackwardHeadRows<Element>& head, const Real* log_sum_exp) {
    [[maybe_unused]] const typename Tile::Session session;
    const std::ptrdiff_t count = head.q.count;
    reserve(count, head.q.columns);
    queries_.pack(head.q, units_);
    d_out_.pack(head.d_out, units_);
    for (std::ptrdiff_t i = 0; i < count; ++i)
      output_dots_.data()[i] = dot(head.out.part(i, 1), head.d_out.part(i, 1));
    std::fill_n(d_queries_.data(), count * units_.width, Real{});
    for (std::ptrdiff_t key = 0; key < count; key += kBlock) {
      const std::ptrdiff_t keys = std::min<std::ptrdiff_t>(kBlock, count - key);
      pack_keys(head, key, keys);
      for (std::ptrdiff_t query = key; query < count; query += kQueries)
        add_tile(query, std::min(kQueries, count - query), key, log_sum_exp);
      store_rows(d_keys_.data(), units_.width, head.d_k.part(key, keys), Real{1});
      store_rows(d_values_.data(), units_.width, head.d_v.part(key, keys), Real{1});
    }
    store_rows(d_queries_.data(), units_.width, head.d_q, Real{1});
  }

 private:
  static constexpr int kUnit = Tile::kNumbersPerUnit, kBlock = Tile::kBlock;
  static constexpr std::ptrdiff_t kQueries = Tile::kQueries;

  void reserve(std::ptrdiff_t sequence_length, std::ptrdiff_t head_size) {
    scale_ = static_cast<Real>(1.0 / std::sqrt(static_cast<double>(head_size)));
    units_ = HeadUnits<Tile>(head_size);
    const std::ptrdiff_t length = rounded_up(sequence_length, kBlock);
    d_queries_.reserve(length * units_.width);
    output_dots_.reserve(length);
    keys_transposed_.reserve(units_.stride * kBlock);
    values_transposed_.reserve(units_.stride * kBlock);
    value_rows_.reserve(units_.stride * kBlock);
    d_keys_.reserve(kBlock * units_.width);
    d_values_.reserve(kBlock * units_.width);
  }

  template <class Element>
  void pack_keys(const BackwardHeadRows<Element>& head, std::ptrdiff_t key, std::ptrdiff_t keys) {
    keys_.pack(head.k.part(key, keys), units_);
    transpose_units<Tile>(keys_.rows(), kBlock, units_.stride, kBlock, keys_transposed_.data());
    pack_rows<Tile>(head.v.part(key, keys), units_.stride, value_rows_.data());
    transpose_units<Tile>(value_rows_.data(), kBlock, units_.stride, kBlock, values_transposed_.data());
    std::fill_n(d_keys_.data(), kBlock * units_.width, Real{});
    std::fill_n(d_values_.data(), kBlock * units_.width, Real{});
  }

  template <class Element>
  static Real dot(const HeadRows<const Element>& a, const HeadRows<const Element>& b) {
    Real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t j = 0; j < a.columns; ++j) sum += widen(a.data[j]) * widen(b.data[j]);
    return sum;
  }

  // Adds queries [query, query + rows) × keys [key, key + kBlock) to d_q, d_k and d_v.
  void add_tile(std::ptrdiff_t query, std::ptrdiff_t rows, std::ptrdiff_t key, const Real* log_sum_exp) {
    multiply_scores(queries_.rows() + query * units_.stride, rows, keys_transposed_.data(), weights_,
                    query == key);
    multiply_scores(d_out_.rows() + query * units_.stride, rows, values_transposed_.data(), d_scores_,
                    query == key);
    differentiate_softmax(query, rows, key, log_sum_exp);
    const auto up_to_diagonal = [=](std::ptrdiff_t, std::ptrdiff_t last) {
      return InnerRange{0, std::min<std::ptrdiff_t>(kBlock, query + last - key)};
    };
    const auto from_diagonal = [=](std::ptrdiff_t first, std::ptrdiff_t) {
      return InnerRange{std::max<std::ptrdiff_t>(0, key + first - query), rows};
    };
    Real* d_queries = d_queries_.data() + query * units_.width;
    multiply<Tile, false>({operand(d_scores_, d_scores_by_row_), kBlock / kUnit, keys_.steps(), units_.width,
                           d_queries, units_.width, 0, true},
                          rows, units_.width, up_to_diagonal);
    const std::ptrdiff_t step = query / kUnit * units_.width;
    multiply<Tile, true>({operand(weights_, weights_by_step_), kBlock, d_out_.steps() + step, units_.width,
                          d_values_.data(), units_.width, 0, true},
                         kBlock, units_.width, from_diagonal);
    multiply<Tile, true>({operand(d_scores_, d_scores_by_step_), kBlock, queries_.steps() + step,
                          units_.width, d_keys_.data(), units_.width, 0, true},
                         kBlock, units_.width, from_diagonal);
  }

  void multiply_scores(const Unit* a, std::ptrdiff_t rows, const Unit* b, Real* c, bool diagonal) const {
    const auto all = [this](std::ptrdiff_t, std::ptrdiff_t) { return InnerRange{0, units_.steps * kUnit}; };
    constexpr std::ptrdiff_t kRows = Tile::kStair;
    std::ptrdiff_t i = 0;
    for (; diagonal && i < std::min<std::ptrdiff_t>(rows, kBlock); i += kRows)
      multiply<Tile, false, Tile::kScoreVectors>(
          {a + i * units_.stride, units_.stride, b, kBlock, c + i * kBlock, kBlock, 0, false}, kRows,
          i + kRows, all);
    multiply<Tile, false, Tile::kScoreVectors>(
        {a + i * units_.stride, units_.stride, b, kBlock, c + i * kBlock, kBlock, 0, false}, rows - i, kBlock,
        all);
  }

  // weights: scores → probabilities; d_scores: gradients of the probabilities → of the scores. Zero above
  // the diagonal.
  void differentiate_softmax(std::ptrdiff_t query, std::ptrdiff_t rows, std::ptrdiff_t key,
                             const Real* log_sum_exp) {
    for (std::ptrdiff_t i = 0; i < rows; ++i)
      differentiate_row(weights_ + i * kBlock, d_scores_ + i * kBlock, query + i - key,
                        log_sum_exp[query + i], output_dots_.data()[query + i]);
    if constexpr (kUnit == 2) {
      const std::ptrdiff_t whole = rounded_up(rows, kUnit * Tile::kSteps);
      std::fill_n(weights_ + rows * kBlock, (whole - rows) * kBlock, Real{});
      std::fill_n(d_scores_ + rows * kBlock, (whole - rows) * kBlock, Real{});
      for (std::ptrdiff_t i = 0; i < whole; i += 2) pack_row_pair(i);
    }
  }

  void differentiate_row(Real* weights, Real* d_scores, std::ptrdiff_t diagonal, Real log_sum_exp,
                         Real output_dot) const {
    const Real scale = scale_;
#pragma omp simd
    for (int j = 0; j < kBlock; ++j) {
      weights[j] = exponential_of_nonpositive(weights[j] * scale - log_sum_exp);
      d_scores[j] = weights[j] * (d_scores[j] - output_dot) * scale;
    }
    if (diagonal >= kBlock - 1) return;
    const int last = static_cast<int>(diagonal);
#pragma omp simd
    for (int j = 0; j < kBlock; ++j) {
      weights[j] = j <= last ? weights[j] : Real{};
      d_scores[j] = j <= last ? d_scores[j] : Real{};
    }
  }

  // Rows i and i + 1 as bf16 pairs: along the keys, and one above the other.
  void pack_row_pair(std::ptrdiff_t i) {
    constexpr std::uint32_t kUpper = 0xFFFF0000u;
    const Real *weights = weights_ + i * kBlock, *d_scores = d_scores_ + i * kBlock;
    std::uint32_t* weight_pairs = weights_by_step_ + i / 2 * kBlock;
    std::uint32_t* d_score_pairs = d_scores_by_step_ + i / 2 * kBlock;
    auto* row = reinterpret_cast<HalfUnit*>(d_scores_by_row_ + i * (kBlock / 2));
#pragma omp simd
    for (int j = 0; j < kBlock; ++j) {
      weight_pairs[j] = rounded_bits(weights[j]) >> 16 | (rounded_bits(weights[j + kBlock]) & kUpper);
      const std::uint32_t upper = rounded_bits(d_scores[j]), lower = rounded_bits(d_scores[j + kBlock]);
      d_score_pairs[j] = upper >> 16 | (lower & kUpper);
      row[j] = static_cast<HalfUnit>(upper >> 16);
      row[j + kBlock] = static_cast<HalfUnit>(lower >> 16);
    }
  }

  static const Unit* operand(const Real* numbers, const std::uint32_t* pairs) {
    if constexpr (kUnit == 2)
      return pairs;
    else
      return numbers;
  }

  Real scale_ = 1;
  HeadUnits<Tile> units_{1};
  PackedRows<Tile> queries_, d_out_;  // the whole head
  PackedRows<Tile> keys_;             // a block of keys, like those below
  ScratchArray<Unit> value_rows_, keys_transposed_, values_transposed_;
  ScratchArray<Real> d_keys_, d_values_;
  ScratchArray<Real> d_queries_, output_dots_;
  alignas(64) Real weights_[kQueries * kBlock] = {};  // [query][key] of one tile
  alignas(64) Real d_scores_[kQueries * kBlock] = {};
  alignas(64) std::uint32_t weights_by_step_[kQueries / 2 * kBlock] = {};  // the same as bf16 pairs
  alignas(64) std::uint32_t d_scores_by_step_[kQueries / 2 * kBlock] = {};
  alignas(64) std::uint32_t d_scores_by_row_[kQueries * kBlock / 2] = {};
};

}  // namespace tenax::kernels
