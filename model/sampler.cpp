#include "model/sampler.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace tenax::model {

namespace {

/// The tokens from the likeliest on, sorted no further than they are looked at: most choices fall among the first few of
/// tens of thousands. Ties go to the lower token.
class LikeliestTokens {
 public:
  explicit LikeliestTokens(std::span<const float> logits) : logits_(logits), order_(logits.size()) {
    std::iota(order_.begin(), order_.end(), 0);
  }
  std::size_t size() const { return order_.size(); }
  std::int32_t operator[](std::size_t rank) {
    assert(rank < size());
    while (rank >= sorted_) sort_more();
    return order_[rank];
  }

 private:
  void sort_more() {
    constexpr std::size_t kFirst = 64, kGrowth = 8;
    const auto at = [this](std::size_t rank) { return order_.begin() + static_cast<std::ptrdiff_t>(rank); };
    const auto likelier = [this](std::int32_t a, std::int32_t b) {
      const float x = logits_[static_cast<std::size_t>(a)], y = logits_[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    };
    const std::size_t end = std::min(size(), std::max(kFirst, kGrowth * sorted_));
    if (end < size()) std::nth_element(at(sorted_), at(end), order_.end(), likelier);
    std::sort(at(sorted_), at(end), likelier);
    sorted_ = end;
  }

  std::span<const float> logits_;
  std::vector<std::int32_t> order_;
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
  double remaining = uniform * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    remaining -= weight(tokens[i]);
    if (remaining < 0) return tokens[i];
  }
  return tokens[count - 1];
}

}  // namespace tenax::model
