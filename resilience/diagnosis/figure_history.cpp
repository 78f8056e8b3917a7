#include "resilience/diagnosis/figure_history.hpp"

#include <algorithm>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {
namespace {

// A change is told at most some tens of iterations after it began.
constexpr std::size_t kMostEntries = 160, kMostHealthy = 64, kFewestHealthy = 16;

// A figure that is not measured in every iteration counts where it was.
bool is_measured(double RankFigures::*figure, const RankFigures& figures) {
  if (figure == &RankFigures::activations_s || figure == &RankFigures::activations_at_most)
    return figures.activations_s > 0;
  if (figure == &RankFigures::gradients_s || figure == &RankFigures::gradients_at_most)
    return figures.gradients_s > 0;
  return std::ranges::find(kReadingFigures, figure) == kReadingFigures.end() || figures.has_reading > 0;
}

}  // namespace

void FigureHistory::add(std::int64_t iteration, const RankFigures& figures, bool is_masked) {
  if (entries_.size() == kMostEntries) entries_.pop_front();
  entries_.push_back({iteration, figures, is_masked});
}

void FigureHistory::was_healthy(std::int64_t from, std::int64_t end) {
  std::vector<const RankFigures*> healthy;
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && healthy.size() < kMostHealthy; ++entry)
    if (!entry->is_masked && entry->iteration >= from && entry->iteration < end)
      healthy.push_back(&entry->figures);
  const bool knows_more = healthy_.compute_s > 0 && healthy.size() < kFewestHealthy;
  if (!healthy.empty() && !knows_more) healthy_ = medians(healthy);
}

void FigureHistory::forget_work() {
  forget();
  RankFigures own{.preempted_s = healthy_.preempted_s};
  for (double RankFigures::*const figure : kReadingFigures) own.*figure = healthy_.*figure;
  healthy_ = own;
}

RankReport FigureHistory::report(std::int64_t since) const {
  std::vector<const RankFigures*> now;
  for (const Entry& entry : entries_)
    if (entry.iteration >= since) now.push_back(&entry.figures);
  return {.now = medians(now), .healthy = healthy_};
}

RankFigures FigureHistory::medians(const std::vector<const RankFigures*>& of) {
  RankFigures medians;
  std::vector<double> values;
  for (double RankFigures::*const figure : kRankFigures) {
    values.clear();
    for (const RankFigures* figures : of)
      if (is_measured(figure, *figures)) values.push_back(figures->*figure);
    if (!values.empty()) medians.*figure = upper_median_of(values);
  }
  return medians;
}

}  // namespace tenax::resilience
