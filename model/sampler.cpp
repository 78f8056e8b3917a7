#include "model/sampler.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace tenax::model {

std::int32_t sample_token(std::span<const float> logits, const SamplerSettings& settings, double uniform) {
  assert(!logits.empty());
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  };
  if (settings.temperature <= 0) return *std::min_element(order.begin(), order.end(), likelier);
  std::sort(order.begin(), order.end(), likelier);
  if (settings.top_k > 0 && static_cast<std::size_t>(settings.top_k) < order.size())
    order.resize(static_cast<std::size_t>(settings.top_k));

  std::vector<double> weight;
  const double largest = logit(order.front());
  for (const std::int32_t token : order)
    weight.push_back(std::exp((logit(token) - largest) / settings.temperature));
  // The smallest set of likeliest tokens whose probability reaches top_p.
  double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < weight.size() && (count == 0 || kept < settings.top_p * total)) kept += weight[count++];

  double remaining = uniform * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    remaining -= weight[i];
    if (remaining < 0) return order[i];
  }
  return order[count - 1];
}

}  // namespace tenax::model
