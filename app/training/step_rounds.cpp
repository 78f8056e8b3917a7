#include "app/training/step_rounds.hpp"

#include <algorithm>

namespace tenax::app {
namespace {

bool has(const std::vector<parallel::SampleRange>& ranges, const parallel::SampleRange& range) {
  return std::find(ranges.begin(), ranges.end(), range) != ranges.end();
}

}  // namespace

void StepRounds::clear(std::int64_t step) {
  step_ = step;
  computed_.clear();
  earlier_loss_ = 0;
}

std::vector<StepRound> StepRounds::begin(std::int64_t step, const std::vector<parallel::SampleRange>& own) {
  std::vector<parallel::SampleRange> wanted = own;
  if (wanted.empty()) wanted.push_back({});
  const bool is_asked_for =
      std::all_of(computed_.begin(), computed_.end(), [&](const auto& range) { return has(wanted, range); });
  if (step != step_ || !is_asked_for) clear(step);
  std::vector<StepRound> rounds;
  for (const parallel::SampleRange& range : wanted)
    if (!has(computed_, range))
      rounds.push_back({.samples = range, .adds = !computed_.empty() || !rounds.empty(), .is_last = false});
  if (!rounds.empty()) rounds.back().is_last = true;
  return rounds;
}

void StepRounds::add(const StepRound& round, double earlier_loss) {
  computed_.push_back(round.samples);
  earlier_loss_ += earlier_loss;
}

}  // namespace tenax::app
