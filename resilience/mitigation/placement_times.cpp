#include "resilience/mitigation/placement_times.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {
namespace {

/// Sums of the same parts in another order differ by less.
constexpr double kRounding = 1e-9;
/// Stands for each group that is no suspect.
constexpr int kHealthy = -1;

struct Slowest {
  double seconds = 0;
  int count = 0;
};

Slowest slowest_of(const std::vector<double>& seconds) {
  const double longest_s = *std::max_element(seconds.begin(), seconds.end());
  const auto is_longest = [&](double s) { return s >= longest_s * (1 - kRounding); };
  return {longest_s, static_cast<int>(std::count_if(seconds.begin(), seconds.end(), is_longest))};
}

std::size_t index_of(int index) { return static_cast<std::size_t>(index); }

}  // namespace

bool PlacementTimes::Score::is_quicker(const Score& other) const {
  return iteration_s < other.iteration_s * (1 - kRounding);
}

bool PlacementTimes::Score::is_below(const Score& other) const {
  return is_quicker(other) || (!other.is_quicker(*this) && slowest < other.slowest);
}

PlacementTimes::PlacementTimes(parallel::GridShape shape, GridTimes times, std::vector<int> group_of_place,
                               std::span<const int> suspects)
    : shape_(shape),
      times_(std::move(times)),
      group_of_place_(std::move(group_of_place)),
      is_suspect_(group_of_place_.size(), false),
      known_data_groups_s_(index_of(shape.pipeline)) {
  for (const int group : suspects) is_suspect_.at(index_of(group)) = true;
  for (int data = 0; data < shape.data; ++data) pipelines_s_.push_back(pipeline_s(data));
  for (int stage = 0; stage < shape.pipeline; ++stage) data_groups_s_.push_back(data_s(stage));
}

PlacementTimes::Score PlacementTimes::score() const {
  const Slowest pipelines = slowest_of(pipelines_s_), data_groups = slowest_of(data_groups_s_);
  return {.iteration_s = pipelines.seconds + data_groups.seconds + times_.optimizer_s,
          .slowest = pipelines.count + data_groups.count};
}

PlacementTimes::Score PlacementTimes::score_with(int place, int other) {
  const std::vector<double> pipelines_s = pipelines_s_, data_groups_s = data_groups_s_;
  exchange(place, other);
  const Score score = this->score();
  std::swap(group_of_place_[index_of(place)], group_of_place_[index_of(other)]);
  pipelines_s_ = pipelines_s;
  data_groups_s_ = data_groups_s;
  return score;
}

void PlacementTimes::exchange(int place, int other) {
  std::swap(group_of_place_[index_of(place)], group_of_place_[index_of(other)]);
  measure(place);
  measure(other);
}

void PlacementTimes::measure(int place) {
  const int data = place % shape_.data, stage = place / shape_.data;
  pipelines_s_[index_of(data)] = pipeline_s(data);
  data_groups_s_[index_of(stage)] = data_s(stage);
}

double PlacementTimes::pipeline_s(int data) {
  Groups groups;
  for (int stage = 0; stage < shape_.pipeline; ++stage)
    groups.push_back(group_of_place_[index_of(data + shape_.data * stage)]);
  const auto [known, is_new] = known_pipelines_s_.try_emplace(arrangement(groups));
  if (is_new) known->second = times_.pipeline_s(groups);
  return known->second;
}

double PlacementTimes::data_s(int stage) {
  const auto first = group_of_place_.begin() + shape_.data * stage;
  const Groups groups(first, first + shape_.data);
  const auto [known, is_new] = known_data_groups_s_[index_of(stage)].try_emplace(arrangement(groups));
  if (is_new) known->second = times_.data_s(stage, groups);
  return known->second;
}

PlacementTimes::Groups PlacementTimes::arrangement(const Groups& groups) const {
  Groups arrangement = groups;
  for (int& group : arrangement)
    if (!is_suspect_[index_of(group)]) group = kHealthy;
  return arrangement;
}

}  // namespace tenax::resilience
