#include "resilience/mitigation/iteration_loss.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {

void IterationLoss::remember(const Iteration& iteration, Iterations& iterations) {
  constexpr std::size_t kRemembered = 256;
  if (iterations.size() == kRemembered) iterations.pop_front();
  iterations.push_back(iteration);
}

double IterationLoss::loss_since(std::int64_t onset, const Iterations& iterations) const {
  double loss_s = 0;
  for (const Iteration& iteration : iterations)
    if (iteration.number >= onset) loss_s += std::max(0.0, iteration.seconds - healthy_s_);
  return loss_s;
}

void IterationLoss::add(std::int64_t number, double seconds, bool is_lossy, bool is_masked) {
  const double loss_s = is_lossy ? std::max(0.0, seconds - healthy_s_) : 0;
  lost_s_ += loss_s;
  remember({number, seconds}, is_masked ? masked_ : iterations_);
  if (is_masked) return;
  since_healthy_s_ += loss_s;
  ++under_placement_;
}

// A restart saves what is lost since all was healthy. An inquiry may take longer than iterations are
// remembered here.
LostTime IterationLoss::take(const FailSlow& found, bool was_well) {
  healthy_s_ = found.healthy_iteration_s;
  const double since_onset_s = std::max(loss_since(found.onset, iterations_), found.lost_s);
  const LostTime lost{.since_onset_s = since_onset_s,
                      .since_healthy_s = std::max(since_onset_s, since_healthy_s_)};
  if (!was_well) return lost;
  lost_s_ += since_onset_s + loss_since(found.onset, masked_);
  since_healthy_s_ += since_onset_s;
  return lost;
}

double IterationLoss::recent_s() const {
  const std::size_t most = under_placement_ > 0 ? std::min(under_placement_, kSettled) : kSettled;
  std::vector<double> seconds;
  for (auto iteration = iterations_.rbegin(); iteration != iterations_.rend() && seconds.size() < most;
       ++iteration)
    seconds.push_back(iteration->seconds);
  return upper_median_of(std::move(seconds));
}

}  // namespace tenax::resilience
