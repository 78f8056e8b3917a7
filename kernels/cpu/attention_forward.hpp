// Forward attention of one head of one sequence.
//
// A block of query rows takes three passes, all its scores kept in between: scores against every key up to the
// diagonal, a plain softmax of each row, the weighted sum of the values. Weights stay unnormalised until the end.
#pragma once

#include "kernels/cpu/attention_exp.hpp"
#include "kernels/cpu/attention_pack.hpp"
#include "kernels/cpu/matmul_scratch.hpp"

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
    reserve(q.count, q.columns);
    pack_transposed<Tile>(k, steps_, length_, keys_.data());
    pack_steps<Tile>(v, width_, values_.data());
    for (std::ptrdiff_t begin = 0; begin < q.count; begin += kBlock) {
      const std::ptrdiff_t rows = std::min<std::ptrdiff_t>(kBlock, q.count - begin);
      pack_rows<Tile>(q.part(begin, rows), steps_, queries_.data());
      compute_scores(begin, rows);
      for (std::ptrdiff_t i = 0; i < rows; ++i) log_sum_exp[begin + i] = softmax(i, begin + i + 1);
      sum_values(begin, rows);
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        store_rows(sums_.data() + i * width_, width_, out.part(begin + i, 1), factors_[i]);
    }
  }

 private:
  static constexpr int kUnit = Tile::kNumbersPerUnit;
  static constexpr std::ptrdiff_t kValueRows = 2 * kBlock;  // as many values as stay in the first cache

  void reserve(std::ptrdiff_t sequence_length, std::ptrdiff_t head_size) {
    scale_ = static_cast<Real>(1.0 / std::sqrt(static_cast<double>(head_size)));
    steps_ = (head_size + kUnit - 1) / kUnit;
    width_ = (head_size + Tile::kLanes - 1) / Tile::kLanes * Tile::kLanes;
    length_ = (sequence_length + kBlock - 1) / kBlock * kBlock;
    keys_.reserve(steps_ * length_);
    values_.reserve(length_ / kUnit * width_);
    queries_.reserve(kBlock * steps_);
    scores_.reserve(kBlock * length_);
    if constexpr (kUnit == 2) weights_.reserve(kBlock * length_ / kUnit);
    sums_.reserve(kBlock * width_);
  }

  void compute_scores(std::ptrdiff_t begin, std::ptrdiff_t rows) {
    const auto all = [this](std::ptrdiff_t, std::ptrdiff_t) { return InnerRange{0, steps_ * kUnit}; };
    constexpr std::ptrdiff_t kRows = 8;  // the staircase along the diagonal
    for (std::ptrdiff_t key = 0; key < begin + rows; key += kBlock) {
      const bool diagonal = key + kBlock > begin + 1;
      for (std::ptrdiff_t i = 0; i < rows; i += diagonal ? kRows : rows) {
        const std::ptrdiff_t columns =
            diagonal ? std::min<std::ptrdiff_t>(kBlock, begin + i + kRows - key) : kBlock;
        multiply<Tile, false, 3>({queries_.data() + i * steps_, steps_, keys_.data() + key, length_,
                                  scores_.data() + i * length_ + key, length_, 0, false},
                                 diagonal ? kRows : rows, columns, all);
      }
    }
  }

  // scores → exp(scale · (score − maximum)) in row i, zero from `count` to the end of the tile that may read them.
  Real softmax(std::ptrdiff_t i, std::ptrdiff_t count) {
    Real* scores = scores_.data() + i * length_;
    Real maximum = scores[0], sum = 0;
#pragma omp simd reduction(max : maximum)
    for (std::ptrdiff_t j = 0; j < count; ++j) maximum = scores[j] > maximum ? scores[j] : maximum;
    const Real offset = -maximum * scale_, scale = scale_;
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t j = 0; j < count; ++j) {
      scores[j] = exp_nonpositive(scores[j] * scale + offset);
      sum += scores[j];
    }
    const std::ptrdiff_t end = std::min(length_, count + 8);
    for (std::ptrdiff_t j = count; j < end; ++j) scores[j] = 0;
    if constexpr (kUnit == 2) {
      auto* weights = reinterpret_cast<bf16_t*>(weights_.data() + i * (length_ / 2));
#pragma omp simd
      for (std::ptrdiff_t j = 0; j < end; ++j) from_real(scores[j], weights[j]);
    }
    factors_[i] = 1 / sum;
    return std::log(sum) - offset;
  }

  void sum_values(std::ptrdiff_t begin, std::ptrdiff_t rows) {
    const Unit* weights;
    if constexpr (kUnit == 2)
      weights = weights_.data();
    else
      weights = scores_.data();
    for (std::ptrdiff_t key = 0; key < begin + rows; key += kValueRows) {
      const auto below_diagonal = [=](std::ptrdiff_t, std::ptrdiff_t last) {
        return InnerRange{0, std::min(kValueRows, begin + last - key)};
      };
      multiply<Tile, false>({weights + key / kUnit, length_ / kUnit, values_.data() + key / kUnit * width_,
                             width_, sums_.data(), width_, 0, key > 0},
                            rows, width_, below_diagonal);
    }
  }

  Real scale_ = 1;
  std::ptrdiff_t steps_ = 0, width_ = 0, length_ = 0;
  ScratchArray<Unit> keys_, values_, queries_, weights_;
  ScratchArray<Real> scores_, sums_;
  Real factors_[kBlock] = {};
};

}  // namespace tenax::kernels
