#include "io/tokens/token_blend.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/random.hpp"

namespace tenax::io {
namespace {

std::vector<std::int64_t> ends_of(const TokenSequence::Files& files, std::int64_t seq_length) {
  std::vector<std::int64_t> ends;
  std::int64_t windows = 0;
  for (const auto& file : files) {
    assert(file->size() > seq_length);
    ends.push_back(windows += WindowOrder::windows_in(file->size(), seq_length));
  }
  return ends;
}

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

double weight_of(const TokenBlend::Source& source) {
  if (source.weight > 0) return source.weight;
  double tokens = 0;
  for (const auto& file : source.files) tokens += static_cast<double>(file->size());
  return tokens;
}

std::vector<double> weights_of(const std::vector<TokenBlend::Source>& sources) {
  std::vector<double> weights;
  for (const auto& source : sources) weights.push_back(weight_of(source));
  return weights;
}

/// Sources of as many windows must not be shuffled alike: they may be translations of each other.
std::int64_t seed_of_source(std::int64_t seed, std::size_t source) {
  if (source == 0) return seed;
  return static_cast<std::int64_t>(
      kernels::CounterRandom(static_cast<std::uint64_t>(seed), "data.blend").bits(source));
}

}  // namespace

TokenSequence::TokenSequence(Files files, SampleOrder order, std::int64_t seed, std::int64_t seq_length)
    : files_(std::move(files)),
      end_window_(ends_of(files_, seq_length)),
      seq_length_(seq_length),
      order_(order, seed, end_window_.back()) {}

TokenSequence::Place TokenSequence::place_of(std::int64_t index) const {
  const std::int64_t window = order_.window_of(index);
  const auto end = std::upper_bound(end_window_.begin(), end_window_.end(), window);
  const std::int64_t before = end == end_window_.begin() ? 0 : *(end - 1);
  return {files_[static_cast<std::size_t>(end - end_window_.begin())].get(), (window - before) * seq_length_};
}

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
  for (Source& source : sources)
    sequences_.emplace_back(std::move(source.files), order, seed_of_source(seed, sequences_.size()),
                            seq_length);
}

void TokenBlend::read(std::int64_t global_index, std::span<std::int32_t> out) {
  const BlendOrder::Place sample = blend_.place_of(global_index);
  const TokenSequence::Place place = sequences_[sample.source].place_of(sample.index);
  note_use_of(place.file);
  place.file->read(place.first_token, out);
}

void TokenBlend::note_use_of(TokenFile* file) {
  constexpr std::size_t kMostOpen = 64;
  if (std::find(open_.begin(), open_.end(), file) != open_.end()) return;
  if (open_.size() == kMostOpen) {
    open_.front()->close();
    open_.pop_front();
  }
  open_.push_back(file);
}

}  // namespace tenax::io
