#include "resilience/recorder/rank_times.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tenax::resilience {
namespace {

constexpr double kSecondsOfNs = 1e-9;

struct StepSpan {
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// The first operation of each step that the image has the begin of: that of the oldest may be overwritten.
std::map<std::int64_t, std::int64_t> begins_of_steps(const RecorderImage& image) {
  std::map<std::int64_t, std::int64_t> begins;
  for (const RecordedOperation& operation : image.operations)
    if (operation.step >= 0) begins.try_emplace(operation.step, operation.started_ns);
  if (!begins.empty()) begins.erase(begins.begin());
  return begins;
}

bool is_wait(const RecordedOperation& operation) {
  return operation.kind != OperationKind::pass && operation.kind != OperationKind::send &&
         operation.channel >= 0;
}

/// What lies in `all`, as spans that do not overlap.
std::vector<StepSpan> united_in(std::vector<StepSpan> spans, const StepSpan& all) {
  std::sort(spans.begin(), spans.end(),
            [](const StepSpan& a, const StepSpan& b) { return a.begin_ns < b.begin_ns; });
  std::vector<StepSpan> apart;
  for (StepSpan span : spans) {
    span = {std::max(span.begin_ns, all.begin_ns), std::min(span.end_ns, all.end_ns)};
    if (span.begin_ns >= span.end_ns) continue;
    if (apart.empty() || span.begin_ns > apart.back().end_ns)
      apart.push_back(span);
    else
      apart.back().end_ns = std::max(apart.back().end_ns, span.end_ns);
  }
  return apart;
}

std::int64_t length_of(const std::vector<StepSpan>& spans) {
  std::int64_t ns = 0;
  for (const StepSpan& span : spans) ns += span.end_ns - span.begin_ns;
  return ns;
}

}  // namespace

std::optional<RankTimes> rank_times(const RecorderImage& image, int steps) {
  const auto begins = begins_of_steps(image);
  if (static_cast<int>(begins.size()) < steps + 1) return {};
  const StepSpan all{std::prev(begins.end(), steps + 1)->second, std::prev(begins.end())->second};
  std::vector<StepSpan> passes, both;
  for (const RecordedOperation& operation : image.operations) {
    const StepSpan span{operation.started_ns,
                        operation.finished_ns == 0 ? image.read_ns : operation.finished_ns};
    if (operation.kind == OperationKind::pass) passes.push_back(span);
    if (operation.kind == OperationKind::pass || is_wait(operation)) both.push_back(span);
  }
  const std::int64_t inside_ns = length_of(united_in(both, all)) - length_of(united_in(passes, all));
  const double each_s = kSecondsOfNs / steps;
  return RankTimes{.replica = image.replica,
                   .rank = image.rank,
                   .host = image.host,
                   .step_s = each_s * static_cast<double>(all.end_ns - all.begin_ns),
                   .inside_s = each_s * static_cast<double>(inside_ns)};
}

}  // namespace tenax::resilience
