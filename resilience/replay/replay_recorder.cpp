#include "resilience/replay/replay_recorder.hpp"

#include <utility>

namespace tenax::resilience {

ReplayRecorder::ReplayRecorder(const std::filesystem::path& folder, ReplayRank rank, StateSums& sums,
                               double deadline_s)
    : sums_(sums), deadline_s_(deadline_s), file_(replay_file(folder, rank.rank)) {
  rank.tensors = sums.tensors();
  rank.parts = sums.parts();
  file_.append(text_of(rank));
}

void ReplayRecorder::reach(StepPoint point, std::int64_t step) {
  if (point != StepPoint::update && point != StepPoint::commit) return;
  file_.append(text_of({.step = step,
                        .point = point == StepPoint::update ? ReplayPoint::update : ReplayPoint::commit,
                        .sums = sums_.take(kernels::Deadline::after_s(deadline_s_))}));
}

}  // namespace tenax::resilience
