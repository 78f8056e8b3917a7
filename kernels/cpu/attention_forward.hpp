// Forward attention of one head of one sequence.
//
// A block of query rows takes three passes, all its scores kept in between: scores against every key up to
// the diagonal, a plain softmax of each row, the weighted sum of the values. Weights stay unnormalised
// until the end.
#pragma once

#include <limits>

#include "kernels/cpu/attention_pack.hpp"
#include "kernels/cpu/exponential.hpp"

namespace tenax::kernels {

template <class Tile>
class AttentionForwardHead {
 public:
  using Real = typename Tile::Real;
  using Unit = typename Tile::Unit;

  /// q, k, v, out: [T, head_size] of one element type; log_sum_exp [T].
  template <class Element>
  void run(const HeadRows<const Element>& q, const HeadRows<const Element>& k,
           const HeadRows<const Element>& v, const HeadRows<Element>& out, Real* log_sum_exp) {
    [[maybe_unused]] const typename Tile::Session session;
    reserve(q.count, q.columns);
    pack_keys(k);
    pack_steps<Tile>(v, units_.width, values_.data());
    for (std::ptrdiff_t begin = 0; begin < q.count; begin += kBlock) {
      const std::ptrdiff_t rows = std::min<std::ptrdiff_t>(kBlock, q.count - begin);
      pack_rows<Tile>(q.part(begin, rows), units_.stride, rows_.data());
      compute_scores(begin, rows);
      for (std::ptrdiff_t i = 0; i < rows; ++i) log_sum_exp[begin + i] = softmax(i, begin + i + 1);
      sum_values(begin, rows);
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        store_rows(sums_.data() + i * units_.width, units_.width, out.part(begin + i, 1), factors_[i]);
    }
  }

 private:
  static constexpr int kUnit = Tile::kNumbersPerUnit, kBlock = Tile::kBlock;
  static constexpr int kChunk = 16, kSpare = Tile::kSpare;  // rows of scores are swept in whole chunks
  static constexpr std::ptrdiff_t kValueRows = 2 * kBlock;  // as many values as stay in the first cache

  void reserve(std::ptrdiff_t sequence_length, std::ptrdiff_t head_size) {
    scale_ = static_cast<Real>(1.0 / std::sqrt(static_cast<double>(head_size)));
    units_ = HeadUnits<Tile>(head_size);
    // What is spare also keeps rows from lying a power of two apart, in the same sets of the cache.
    length_ = rounded_up(sequence_length, kBlock) + kSpare;
    keys_.reserve(units_.stride * length_);
    values_.reserve(length_ / kUnit * units_.width);
    rows_.reserve(kBlock * units_.stride);
    scores_.reserve(kBlock * length_);
    if constexpr (kUnit == 2) weights_.reserve(kBlock * length_ / kUnit);
    sums_.reserve(kBlock * units_.width);
  }

  template <class Element>
  void pack_keys(const HeadRows<const Element>& k) {
    for (std::ptrdiff_t key = 0; key < k.count; key += kBlock) {
      pack_rows<Tile>(k.part(key, std::min<std::ptrdiff_t>(kBlock, k.count - key)), units_.stride,
                      rows_.data());
      transpose_units<Tile>(rows_.data(), kBlock, units_.stride, length_, keys_.data() + key);
    }
  }

  void compute_scores(std::ptrdiff_t begin, std::ptrdiff_t rows) {
    const auto all = [this](std::ptrdiff_t, std::ptrdiff_t) { return InnerRange{0, units_.steps * kUnit}; };
    constexpr std::ptrdiff_t kRows = Tile::kStair;
    for (std::ptrdiff_t key = 0; key < begin + rows; key += kBlock) {
      const bool diagonal = key == begin;
      for (std::ptrdiff_t i = 0; i < rows; i += diagonal ? kRows : rows)
        multiply<Tile, false, Tile::kScoreVectors>(
            {rows_.data() + i * units_.stride, units_.stride, keys_.data() + key, length_,
             scores_.data() + i * length_ + key, length_, 0, false},
            diagonal ? kRows : rows, diagonal ? i + kRows : kBlock, all);
    }
  }

  // scores → exp(scale · (score − maximum)) in row i; zero from `count` on, as far as a tile may read.
  Real softmax(std::ptrdiff_t i, std::ptrdiff_t count) {
    Real* scores = scores_.data() + i * length_;
    const std::ptrdiff_t end = (count + kChunk - 1) / kChunk * kChunk;
    mask(scores, count, end, std::numeric_limits<Real>::lowest());
    Real maximum = scores[0], sum = 0;
#pragma omp simd reduction(max : maximum)
    for (std::ptrdiff_t j = 0; j < end; ++j) maximum = scores[j] > maximum ? scores[j] : maximum;
    const Real offset = -maximum * scale_, scale = scale_;
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t j = 0; j < end; ++j) {
      scores[j] = exponential_of_nonpositive(scores[j] * scale + offset);
      sum += scores[j];
    }
    mask(scores, count, end, Real{});
    std::fill_n(scores + end, kSpare, Real{});
    if constexpr (kUnit == 2) {
      auto* weights = reinterpret_cast<HalfUnit*>(weights_.data() + i * (length_ / 2));
#pragma omp simd
      for (std::ptrdiff_t j = 0; j < end + kSpare; ++j)
        weights[j] = static_cast<HalfUnit>(rounded_bits(scores[j]) >> 16);
    }
    factors_[i] = 1 / sum;
    return std::log(sum) - offset;
  }

  // scores[count … end) = value, without a loop of changing length.
  static void mask(Real* scores, std::ptrdiff_t count, std::ptrdiff_t end, Real value) {
    const int kept = static_cast<int>(count - (end - kChunk));
    scores += end - kChunk;
#pragma omp simd
    for (int j = 0; j < kChunk; ++j) scores[j] = j < kept ? scores[j] : value;
  }

  void sum_values(std::ptrdiff_t begin, std::ptrdiff_t rows) {
    const Unit* weights;
    if constexpr (kUnit == 2)
      weights = weights_.data();
    else
      weights = scores_.data();
    for (std::ptrdiff_t key = 0; key < begin + rows; key += kValueRows) {
      const auto up_to_diagonal = [=](std::ptrdiff_t, std::ptrdiff_t last) {
        return InnerRange{0, std::min(kValueRows, begin + last - key)};
      };
      multiply<Tile, false>(
          {weights + key / kUnit, length_ / kUnit, values_.data() + key / kUnit * units_.width, units_.width,
           sums_.data(), units_.width, 0, key > 0},
          rows, units_.width, up_to_diagonal);
    }
  }

  Real scale_ = 1;
  HeadUnits<Tile> units_{1};
  std::ptrdiff_t length_ = 0;
  ScratchArray<Unit> keys_, values_;   // the whole head
  ScratchArray<Unit> rows_, weights_;  // a block of keys, then of queries; its weights, where they are pairs
  ScratchArray<Real> scores_, sums_;
  Real factors_[kBlock] = {};
};

}  // namespace tenax::kernels
