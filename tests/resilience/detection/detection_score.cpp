#include "tests/resilience/detection/detection_score.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "resilience/detection/iteration_tracker.hpp"

namespace tenax::resilience {

std::vector<Change> changes_told(DetectorFactory make, const std::vector<double>& seconds,
                                 const DetectionOptions& options) {
  IterationTracker tracker(make(options), options);
  std::vector<Change> told;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (const auto change = tracker.add(static_cast<std::int64_t>(i), seconds[i])) told.push_back(*change);
  return told;
}

void DetectionScore::add(const SlowJob& job, const std::vector<Change>& told) {
  constexpr std::int64_t kNear = 7;  // changes are 15 apart
  std::vector<Change> left = told;
  const int missed_before = missed;
  for (const TrueChange& truth : job.changes) {
    const auto found = std::find_if(left.begin(), left.end(), [&](const Change& change) {
      return change.is_onset() == (truth.ratio > 1) && std::abs(change.iteration - truth.iteration) <= kNear;
    });
    ++changes;
    if (found == left.end()) {
      ++missed;
      continue;
    }
    add(truth, *found);
    left.erase(found);
  }
  untrue += static_cast<int>(left.size());
  ++jobs;
  jobs_right += left.empty() && missed == missed_before;
}

void DetectionScore::add(const TrueChange& truth, const Change& told) {
  const bool is_clear = std::abs(std::log(truth.ratio)) >= std::log(1.2);
  const std::int64_t latency = told.detected_at - truth.iteration;
  misplaced += std::abs(told.iteration - truth.iteration) > 2;
  misjudged += std::abs(told.ratio() / truth.ratio - 1) > 0.06;
  late += latency > 8;
  clear += is_clear;
  late_clear += is_clear && latency > 3;
}

void DetectionScore::add(const DetectionScore& other) {
  for (int DetectionScore::*count :
       {&DetectionScore::jobs, &DetectionScore::jobs_right, &DetectionScore::changes, &DetectionScore::missed,
        &DetectionScore::untrue, &DetectionScore::misplaced, &DetectionScore::misjudged,
        &DetectionScore::late, &DetectionScore::clear, &DetectionScore::late_clear})
    this->*count += other.*count;
}

DetectionScore score(DetectorFactory make, const JobSet& set) {
  DetectionScore score;
  for (const SlowJob& job : set.jobs) score.add(job, changes_told(make, job.seconds));
  return score;
}

}  // namespace tenax::resilience
