#include "model/sampler.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tenax::model {

namespace {

/// The tokens from the likeliest on, sorted no further than they are looked at: most choices fall among the first few of
/// tens of thousands. Ties go to the lower token.
class LikeliestTokens {
 public:
  explicit LikeliestTokens(std::span<const float> logits) : keys_(logits.size()) {
    for (std::size_t token = 0; token < keys_.size(); ++token) keys_[token] = key_of(logits[token]) | token;
  }
  std::size_t size() const { return keys_.size(); }
  std::int32_t operator[](std::size_t rank) {
    assert(rank < size());
    while (rank >= sorted_) sort_more();
    return token_at(rank);
  }

  /// Where the weights of the `count` likeliest, summed from the likeliest on, exceed `sum`. What is not sorted yet is
  /// halved instead. The last thing to ask.
  template <class Weight>
  std::int32_t where_sum_exceeds(double sum, std::size_t count, const Weight& weight) {
    constexpr std::size_t kFew = 64;
    std::size_t begin = 0, end = count;
    for (const std::size_t known = std::min(sorted_, end - 1); begin < known; ++begin)
      if ((sum -= weight(token_at(begin))) < 0) return token_at(begin);
    while (end - begin > kFew) {
      const std::size_t middle = begin + (end - begin) / 2;
      std::nth_element(at(begin), at(middle), at(end));
      double likelier = 0;
      for (std::size_t rank = begin; rank < middle; ++rank) likelier += weight(token_at(rank));
      if (sum < likelier) {
        end = middle;
      } else {
        sum -= likelier;
        begin = middle;
      }
    }
    std::sort(at(begin), at(end));
    while (begin + 1 < end && (sum -= weight(token_at(begin))) >= 0) ++begin;
    return token_at(begin);
  }

 private:
  static constexpr std::uint64_t kToken = 0xFFFFFFFFu;

  std::vector<std::uint64_t>::iterator at(std::size_t rank) {
    return keys_.begin() + static_cast<std::ptrdiff_t>(rank);
  }
  std::int32_t token_at(std::size_t rank) const { return static_cast<std::int32_t>(keys_[rank] & kToken); }

  /// Whole numbers that order as logits do, from the largest on: sorting looks nothing up.
  static std::uint64_t key_of(float logit) {
    constexpr std::uint32_t kSign = 0x80000000u;
    const auto bits = std::bit_cast<std::uint32_t>(logit + 0.0f);  // one zero
    const std::uint32_t ascending = bits & kSign ? ~bits : bits | kSign;
    return std::uint64_t{~ascending} << 32;
  }

  void sort_more() {
    constexpr std::size_t kFirst = 64, kGrowth = 8;
    const std::size_t end = std::min(size(), std::max(kFirst, kGrowth * sorted_));
    if (end < size()) std::nth_element(at(sorted_), at(end), keys_.end());
    std::sort(at(sorted_), at(end));
    sorted_ = end;
  }

  std::vector<std::uint64_t> keys_;  // a logit's above, its token below
  std::size_t sorted_ = 0;
};

}  // namespace

std::int32_t sample_token(std::span<const float> logits, const SamplerSettings& settings, double uniform) {
  assert(!logits.empty());
  if (settings.temperature <= 0)
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  LikeliestTokens tokens(logits);
  const double largest = logits[static_cast<std::size_t>(tokens[0])];
  const auto weight = [&](std::int32_t token) {
    return std::exp((logits[static_cast<std::size_t>(token)] - largest) / settings.temperature);
  };
  const bool all = settings.top_k <= 0 || static_cast<std::size_t>(settings.top_k) >= tokens.size();
  std::size_t count = all ? tokens.size() : static_cast<std::size_t>(settings.top_k);
  double kept = 0;
  for (std::size_t i = 0; i < count; ++i) kept += weight(all ? static_cast<std::int32_t>(i) : tokens[i]);
  if (settings.top_p < 1) {
    // The smallest set of likeliest tokens whose probability reaches top_p.
    const double wanted = settings.top_p * kept;
    kept = weight(tokens[0]);
    std::size_t reached = 1;
    while (reached < count && kept < wanted) kept += weight(tokens[reached++]);
    count = reached;
  }
  return tokens.where_sum_exceeds(uniform * kept, count, weight);
}

}  // namespace tenax::model
