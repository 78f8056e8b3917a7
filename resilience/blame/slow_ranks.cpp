#include "resilience/blame/slow_ranks.hpp"

#include <algorithm>
#include <cstddef>

namespace tenax::resilience {

std::vector<RankTimes> slow_ranks(std::vector<RankTimes> ranks) {
  constexpr double kMargin = 0.1;
  if (ranks.size() < 2) return {};
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankTimes& a, const RankTimes& b) { return a.inside_s < b.inside_s; });
  const RankTimes median = ranks[ranks.size() / 2];
  std::erase_if(ranks, [&](const RankTimes& rank) {
    return rank.inside_s >= median.inside_s - kMargin * median.step_s;
  });
  return ranks;
}

}  // namespace tenax::resilience
