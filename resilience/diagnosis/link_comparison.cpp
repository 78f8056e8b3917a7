#include "resilience/diagnosis/link_comparison.hpp"

#include <algorithm>
#include <cmath>

#include "resilience/diagnosis/part_comparison.hpp"

namespace tenax::resilience {
namespace {

/// A rank that waits sleeps so long between two looks (kernels::Backoff): for a message, and for its answer.
constexpr double kLooking_s = 2 * 2e-4;

std::pair<int, int> link_of(const LinkTime& time) { return std::minmax(time.from, time.to); }

double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median absolute deviation from the median, both the lower ones: slow links, if they are fewer than half, count
/// for nothing. Scaled as usual, so that of normal noise it is the standard deviation.
double typical_deviation(const std::vector<double>& values) {
  constexpr double kNormal = 1.4826;
  const double median = lower_median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  return kNormal * lower_median(std::move(deviations));
}

PartComparison compare(const std::vector<LinkTime>& times, double suspect) {
  std::vector<double> seconds;
  for (const LinkTime& time : times) seconds.push_back(time.seconds);
  const double noise_s = std::max(kLooking_s, 3 * typical_deviation(seconds));
  std::vector<PartFigure> figures;
  for (const double now_s : seconds)
    figures.push_back({.work = 0, .now_s = now_s, .healthy_s = 0, .floor_s = noise_s});
  return {std::move(figures), suspect};
}

}  // namespace

LinkComparison::LinkComparison(parallel::GroupKind kind, const std::vector<RankTests>& tests, double suspect)
    : kind_(kind) {
  using Ends = std::pair<int, int>;  // from, to
  std::map<std::size_t, std::map<Ends, LinkTime>> least_of_size;
  for (const RankTests& rank : tests)
    for (const LinkTime& time : rank.links) {
      if (time.group != kind) continue;
      add(time);
      const auto [least, is_first] = least_of_size[time.bytes].try_emplace({time.from, time.to}, time);
      if (time.seconds < least->second.seconds) least->second = time;
    }
  for (const auto& [bytes, least] : least_of_size) {
    std::vector<LinkTime> times;
    for (const auto& [ends, time] : least) times.push_back(time);
    judge(times, suspect);
  }
}

void LinkComparison::add(const LinkTime& time) {
  preempted_s_of_[{time.from, time.pass}] = time.preempted_s;
  Tally& tally = judgement_of_link_[link_of(time)].of(time.bytes);
  tally.passes.insert(time.pass);
  tally.sizes.insert(time.bytes);
}

void LinkComparison::judge(const std::vector<LinkTime>& times, double suspect) {
  const PartComparison comparison = compare(times, suspect);
  for (std::size_t i = 0; i < times.size(); ++i) {
    Judgement& judgement = judgement_of_link_.at(link_of(times[i]));
    if (times[i].bytes > judgement.largest_bytes) judgement.ratio = 0;
    judgement.largest_bytes = times[i].bytes;
    judgement.ratio = std::max(judgement.ratio, comparison.factor(i));
    if (!comparison.is_suspect(i) || preempted_s(times[i]) >= comparison.excess_s(i) / 2) continue;
    Tally& tally = judgement.of(times[i].bytes);
    tally.slow.insert(times[i].bytes);
    if (comparison.factor(i) <= tally.factor) continue;
    tally.factor = comparison.factor(i);
    tally.healthy_s = comparison.healthy_s(i);
  }
}

// The receiver sends in the same pass.
double LinkComparison::preempted_s(const LinkTime& time) const {
  return std::max(preempted_s_of_.at({time.from, time.pass}), preempted_s_of_.at({time.to, time.pass}));
}

bool LinkComparison::can_judge(int rank, int other) const {
  const auto link = judgement_of_link_.find(std::minmax(rank, other));
  return link != judgement_of_link_.end() && judgement_of_link_.size() > 1 && !link->second.is_doubtful();
}

double LinkComparison::ratio(int rank, int other) const {
  return judgement_of_link_.at(std::minmax(rank, other)).ratio;
}

std::vector<Component> LinkComparison::slow() const {
  std::vector<Component> slow;
  for (const auto& [link, judgement] : judgement_of_link_) {
    if (!judgement.is_slow()) continue;
    const Tally& telling = judgement.large.slow.empty() ? judgement.tiny : judgement.large;
    slow.push_back({.kind = Component::Kind::link,
                    .rank = link.first,
                    .other = link.second,
                    .group = kind_,
                    .cause = SlowCause::link,
                    .factor = telling.factor,
                    .healthy_s = telling.healthy_s});
  }
  return slow;
}

}  // namespace tenax::resilience
