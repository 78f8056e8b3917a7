#include "resilience/diagnosis/step_figures.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "parallel/layout/process_grid.hpp"

namespace tenax::resilience {

using parallel::GroupKind;

namespace {

// One each for what the others have, or are to have; an all-reduce has both halves.
double messages_over_edge(const comm::CollectiveRecord& collective) {
  return (collective.kind == comm::CollectiveKind::all_reduce ? 2 : 1) * (collective.ranks - 1);
}

}  // namespace

void StepFigures::on_collective(const comm::CollectiveRecord& collective) {
  const Span span{collective.begin_s, collective.end_s};
  const auto bytes = static_cast<double>(collective.bytes);
  if (collective.group == name_of(GroupKind::tensor)) {
    tensor_.push_back(span);
    figures_.tensor_bytes += bytes;
  } else if (collective.group == name_of(GroupKind::data)) {
    data_.push_back(span);
    figures_.data_bytes += bytes;
    figures_.data_messages += messages_over_edge(collective);
  }
}

RankFigures StepFigures::take() {
  figures_.compute_s = seconds_of(passes_) - overlap_s(passes_, tensor_);
  figures_.tensor_s = seconds_of(tensor_);
  figures_.data_s = busy_s(std::move(data_));
  figures_.preempted_s = preempted_s_();
  const RankFigures figures = figures_;
  clear();
  return figures;
}

void StepFigures::clear() {
  passes_.clear();
  tensor_.clear();
  data_.clear();
  figures_ = {};
}

double StepFigures::seconds_of(const std::vector<Span>& spans) {
  double seconds = 0;
  for (const Span& span : spans) seconds += span.end_s - span.begin_s;
  return seconds;
}

// A bucket's collective begins while earlier ones are under way, and may be told of before them.
double StepFigures::busy_s(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin_s);
  double seconds = 0, until_s = -std::numeric_limits<double>::infinity();
  for (const Span& span : spans) {
    seconds += std::max(0.0, span.end_s - std::max(span.begin_s, until_s));
    until_s = std::max(until_s, span.end_s);
  }
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
