#include "resilience/mitigation/microbatch_shares.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace tenax::resilience {
namespace {

/// A count of microbatches, and the seconds that it takes.
struct Point {
  int microbatches = 0;
  double seconds = 0;
};

/// The least time in which all can be computed is one that some kind of pipeline takes. While limits between one that is
/// too short and one that suffices are tried, each kind keeps the counts between which its part of the answer lies.
class Kind {
 public:
  Kind(const PipelineTime& time, int most) : time_(time), below_(at(1)), above_{most + 1, kNever} {}

  void add_group() { ++groups_; }
  std::int64_t groups() const { return groups_; }
  Point at(int microbatches) const {
    const double seconds = time_(microbatches);
    assert(std::isfinite(seconds) && "a pipeline's time is finite");
    return {microbatches, seconds};
  }

  /// Finds what it computes within `limit_s`, and what it does not any more.
  void try_limit(double limit_s) {
    within_ = below_;
    beyond_ = above_;
    while (beyond_.microbatches - within_.microbatches > 1) {
      const Point tried = at(std::midpoint(within_.microbatches, beyond_.microbatches));
      (tried.seconds <= limit_s ? within_ : beyond_) = tried;
    }
  }
  /// The most that the limit last tried allows, and the next count.
  const Point& within() const { return within_; }
  const Point& beyond() const { return beyond_; }
  /// That limit was too short, or long enough: later ones lie on its other side.
  void keep_above() { below_ = within_; }
  void keep_below() { above_ = beyond_; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  const PipelineTime& time_;
  int groups_ = 0;
  Point below_, above_, within_{}, beyond_{};
};

std::vector<Kind> kinds_of(std::span<const PipelineTime> times, std::span<const int> kind_of_group,
                           int microbatches) {
  const auto others = static_cast<int>(kind_of_group.size()) - 1;
  assert(others >= 0 && microbatches > others && "each group has a microbatch");
  std::vector<Kind> kinds;
  for (const PipelineTime& time : times) kinds.emplace_back(time, microbatches - others);
  for (const int kind : kind_of_group) kinds.at(static_cast<std::size_t>(kind)).add_group();
  return kinds;
}

bool suffices(std::vector<Kind>& kinds, double limit_s, int microbatches) {
  std::int64_t most = 0;
  for (Kind& kind : kinds) {
    kind.try_limit(limit_s);
    most += kind.groups() * kind.within().microbatches;
  }
  return most >= microbatches;
}

/// The slowest kind's time for as many.
double slowest_with(const std::vector<Kind>& kinds, int microbatches) {
  double seconds = 0;
  for (const Kind& kind : kinds) seconds = std::max(seconds, kind.at(microbatches).seconds);
  return seconds;
}

/// Of the limit last tried: the longest time that it allows.
double longest_within(const std::vector<Kind>& kinds) {
  double seconds = 0;
  for (const Kind& kind : kinds) seconds = std::max(seconds, kind.within().seconds);
  return seconds;
}

/// Of the limit last tried: the shortest time that is longer.
double shortest_beyond(const std::vector<Kind>& kinds) {
  double seconds = std::numeric_limits<double>::infinity();
  for (const Kind& kind : kinds) seconds = std::min(seconds, kind.beyond().seconds);
  return seconds;
}

/// The least limit that suffices. `even`: the largest share of an even split.
double least_limit(std::vector<Kind>& kinds, int even, int microbatches) {
  double low_s = slowest_with(kinds, 1), high_s = slowest_with(kinds, even), limit_s = low_s;
  do {
    if (suffices(kinds, limit_s, microbatches)) {
      high_s = longest_within(kinds);
      for (Kind& kind : kinds) kind.keep_below();
    } else {
      low_s = limit_s;
      for (Kind& kind : kinds) kind.keep_above();
      if (shortest_beyond(kinds) >= high_s) return high_s;
    }
    limit_s = std::midpoint(low_s, high_s);
  } while (low_s < limit_s && limit_s < high_s);
  return high_s;
}

/// The highest level to which all groups can be filled, each up to its `most`.
int common_level(std::span<const int> most, int microbatches) {
  const auto filled = [&](int level) {
    std::int64_t sum = 0;
    for (const int count : most) sum += std::min(count, level);
    return sum;
  };
  int level = 1, too_high = microbatches + 1;
  while (too_high - level > 1) {
    const int middle = std::midpoint(level, too_high);
    (filled(middle) <= microbatches ? level : too_high) = middle;
  }
  return level;
}

std::vector<int> even_shares(std::span<const int> most, int microbatches) {
  const int level = common_level(most, microbatches);
  std::vector<int> shares;
  for (const int count : most) shares.push_back(std::min(count, level));
  int rest = std::accumulate(shares.begin(), shares.end(), microbatches, std::minus<>());
  for (std::size_t group = 0; rest > 0; ++group) {
    assert(group < most.size() && "the limit suffices");
    if (most[group] <= level) continue;
    ++shares[group];
    --rest;
  }
  return shares;
}

}  // namespace

MicrobatchShares share_microbatches(std::span<const PipelineTime> kinds, std::span<const int> kind_of_group,
                                    int microbatches) {
  const auto groups = static_cast<int>(kind_of_group.size());
  std::vector<Kind> all = kinds_of(kinds, kind_of_group, microbatches);
  const double limit_s = least_limit(all, (microbatches + groups - 1) / groups, microbatches);
  for (Kind& kind : all) kind.try_limit(limit_s);
  std::vector<int> most;
  for (const int kind : kind_of_group)
    most.push_back(all[static_cast<std::size_t>(kind)].within().microbatches);
  return {.microbatches = even_shares(most, microbatches), .slowest_s = limit_s};
}

}  // namespace tenax::resilience
