#include "io/token_blend.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/random.hpp"

namespace tenax::io {
namespace {

constexpr double kCycle = 65536;

std::vector<std::int64_t> shares_of(const std::vector<double>& weights) {
  if (weights.size() == 1) return {1};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> shares;
  for (const double weight : weights) {
    assert(weight > 0);
    shares.push_back(std::max<std::int64_t>(1, std::llround(weight / sum * kCycle)));
  }
  return shares;
}

std::vector<double> weights_of(const std::vector<TokenBlend::Source>& sources) {
  std::vector<double> weights;
  for (const auto& source : sources) weights.push_back(source.weight);
  return weights;
}

/// Files of as many windows must not be shuffled alike: they may be translations of each other.
std::int64_t seed_of_source(std::int64_t seed, std::size_t source) {
  if (source == 0) return seed;
  return static_cast<std::int64_t>(
      kernels::CounterRandom(static_cast<std::uint64_t>(seed), "data.blend").bits(source));
}

}  // namespace

BlendOrder::BlendOrder(const std::vector<double>& weights) : share_(shares_of(weights)) {
  std::vector<std::tuple<double, std::size_t, std::int64_t>> samples;
  for (std::size_t source = 0; source < share_.size(); ++source) {
    for (std::int64_t k = 0; k < share_[source]; ++k)
      samples.emplace_back((static_cast<double>(k) + 0.5) / static_cast<double>(share_[source]), source, k);
  }
  std::sort(samples.begin(), samples.end());
  for (const auto& [position, source, k] : samples) cycle_.push_back({source, k});
}

BlendOrder::Place BlendOrder::place_of(std::int64_t global_index) const {
  assert(global_index >= 0);
  const auto length = static_cast<std::int64_t>(cycle_.size());
  Place place = cycle_[static_cast<std::size_t>(global_index % length)];
  place.index += global_index / length * share_[place.source];
  return place;
}

TokenBlend::TokenBlend(std::vector<Source> sources, SampleOrder order, std::int64_t seed,
                       std::int64_t seq_length)
    : blend_(weights_of(sources)) {
  for (Source& source : sources) {
    const WindowOrder windows(order, seed_of_source(seed, files_.size()), source.tokens->size(), seq_length);
    files_.push_back({std::move(source.tokens), windows});
  }
}

void TokenBlend::read(std::int64_t global_index, std::span<std::int32_t> out) const {
  const BlendOrder::Place place = blend_.place_of(global_index);
  const OrderedFile& file = files_[place.source];
  file.tokens->read(file.windows.first_token(place.index), out);
}

}  // namespace tenax::io
