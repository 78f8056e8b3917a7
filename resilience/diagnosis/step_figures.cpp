#include "resilience/diagnosis/step_figures.hpp"

#include <algorithm>
#include <utility>

#include "parallel/layout/process_grid.hpp"

namespace tenax::resilience {

using parallel::GroupKind;

void StepFigures::on_collective(const comm::CollectiveRecord& collective) {
  const double seconds = collective.end_s - collective.begin_s;
  const auto bytes = static_cast<double>(collective.bytes);
  if (collective.group == name_of(GroupKind::tensor)) {
    tensor_.push_back({collective.begin_s, collective.end_s});
    figures_.tensor_s += seconds;
    figures_.tensor_bytes += bytes;
  } else if (collective.group == name_of(GroupKind::data)) {
    figures_.data_s += seconds;
    figures_.data_bytes += bytes;
  }
}

RankFigures StepFigures::take() {
  figures_.compute_s = seconds_of(passes_) - overlap_s(passes_, tensor_);
  figures_.preempted_s = preempted_s_();
  const RankFigures figures = figures_;
  clear();
  return figures;
}

void StepFigures::clear() {
  passes_.clear();
  tensor_.clear();
  figures_ = {};
}

double StepFigures::seconds_of(const std::vector<Span>& spans) {
  double seconds = 0;
  for (const Span& span : spans) seconds += span.end_s - span.begin_s;
  return seconds;
}

// Both run on one stream, so that neither overlaps itself.
double StepFigures::overlap_s(const std::vector<Span>& a, const std::vector<Span>& b) {
  double seconds = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double begin_s = std::max(a[i].begin_s, b[j].begin_s);
    const double end_s = std::min(a[i].end_s, b[j].end_s);
    seconds += std::max(end_s - begin_s, 0.0);
    ++(a[i].end_s < b[j].end_s ? i : j);
  }
  return seconds;
}

}  // namespace tenax::resilience
