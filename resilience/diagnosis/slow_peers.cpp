#include "resilience/diagnosis/slow_peers.hpp"

#include <algorithm>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {
namespace {

/// A replica that finds itself slow says so within fewer iterations.
constexpr std::size_t kLooks = 24, kSlowLooks = 20;
constexpr std::size_t kHealedLooks = 8, kHealedSlowLooks = 1;
constexpr std::size_t kLeastHealthy = 16, kMostHealthy = 64;

}  // namespace

std::vector<SlowPeers::Change> SlowPeers::add(std::int64_t iteration, const std::vector<Figure>& figures,
                                              double floor_s) {
  forget([&](const Part& part) {
    return !states_.at(part).is_slow &&
           std::none_of(figures.begin(), figures.end(),
                        [&](const Figure& figure) { return figure.part == part; });
  });
  std::vector<Change> changes;
  for (const Figure& figure : figures) {
    State& state = states_[figure.part];
    const std::optional<double> expected_s = this->expected_s(figure, figures);
    const bool is_slow =
        expected_s && figure.seconds > suspect_ * *expected_s && figure.seconds - *expected_s >= floor_s;
    if (!is_slow && !state.is_slow) {
      state.healthy_s.push_back(figure.seconds);
      if (state.healthy_s.size() > kMostHealthy) state.healthy_s.pop_front();
    }
    if (!expected_s || *expected_s <= 0) continue;
    state.looks.push_back({iteration, figure.seconds / *expected_s, is_slow});
    if (state.looks.size() > kLooks) state.looks.pop_front();
    if (const auto change = judge(figure.part, state)) changes.push_back(*change);
  }
  return changes;
}

// Nothing where there are no others, and the past is too short.
std::optional<double> SlowPeers::expected_s(const Figure& figure, const std::vector<Figure>& figures) const {
  std::vector<double> seconds;
  for (const Figure& other : figures)
    if (other.part != figure.part && other.work == figure.work) seconds.push_back(other.seconds);
  if (!seconds.empty()) return lower_median_of(std::move(seconds));
  const std::deque<double>& past_s = states_.at(figure.part).healthy_s;
  if (figures.size() > 1 || past_s.size() < kLeastHealthy) return {};
  return lower_median_of({past_s.begin(), past_s.end()});
}

std::optional<SlowPeers::Change> SlowPeers::judge(const Part& part, State& state) {
  if (!state.is_slow) {
    if (state.looks.size() < kLooks || count_slow(state.looks, kLooks) < kSlowLooks) return {};
    const auto first =
        std::find_if(state.looks.begin(), state.looks.end(), [](const Look& look) { return look.is_slow; });
    state.since = first->iteration;
  } else if (count_slow(state.looks, kHealedLooks) > kHealedSlowLooks) {
    return {};
  }
  state.is_slow = !state.is_slow;
  const double factor = median_ratio(state.looks, state.is_slow ? kLooks : kHealedLooks);
  if (!state.is_slow) state.looks.clear();
  return Change{.part = part, .is_slow = state.is_slow, .factor = factor, .since = state.since};
}

std::size_t SlowPeers::count_slow(const std::deque<Look>& looks, std::size_t last) {
  const auto begin = looks.end() - static_cast<std::ptrdiff_t>(std::min(last, looks.size()));
  return static_cast<std::size_t>(
      std::count_if(begin, looks.end(), [](const Look& look) { return look.is_slow; }));
}

double SlowPeers::median_ratio(const std::deque<Look>& looks, std::size_t last) {
  std::vector<double> ratios;
  for (auto look = looks.rbegin(); look != looks.rend() && ratios.size() < last; ++look)
    ratios.push_back(look->ratio);
  return lower_median_of(std::move(ratios));
}

}  // namespace tenax::resilience
