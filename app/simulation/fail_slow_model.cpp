#include "app/simulation/fail_slow_model.hpp"

namespace tenax::app {
namespace {

/// A row of the study.
struct Study {
  double slow_jobs, jobs;
  double longer;   ///< these jobs took so much longer, as a share
  double minutes;  ///< of an episode
  double least_loss, most_loss;
};

// One GPU ran 20 % slower, a node's job lost 21.6 % at most.
constexpr Study kOneNode = {6, 392, 0.1179, 10, 0.1, 0.3};
// Two congestions took 28 % and 46 % of a job's throughput.
constexpr Study kFourNodes = {43, 107, 0.1545, 24, 0.1, 0.64};
// Between what counts as slow at all and 80 to 90 %.
constexpr Study kAtScale = {16, 27, 0.3459, 72, 0.1, 0.9};
constexpr int kRanksOfNode = 8, kRanksAtScale = 512;

FailSlowModel model_of(const Study& study) {
  constexpr double kMinute_s = 60;
  const double duration_s = kMinute_s * study.minutes, lost_in_one = (study.least_loss + study.most_loss) / 2;
  const double lost = study.slow_jobs / study.jobs * study.longer / (1 + study.longer);
  return {.between_s = duration_s * lost_in_one / lost,
          .duration_s = duration_s,
          .least_loss = study.least_loss,
          .most_loss = study.most_loss};
}

}  // namespace

FailSlowModel FailSlowModel::of_job(int ranks) {
  if (ranks >= kRanksAtScale) return model_of(kAtScale);
  return model_of(ranks <= kRanksOfNode ? kOneNode : kFourNodes);
}

}  // namespace tenax::app
