// AdaptationController: which links go over delegates, over how many, and how far the evaluator is believed.
#include <algorithm>
#include <cmath>

#include "comm/delegates/delegated_link.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"

namespace tenax::resilience {

using parallel::PipelineCosts;

void AdaptationController::choose_paths(const PipelineCosts& costs) {
  for (int index = 0; index < forecast_.links(); ++index) {
    Link& link = links_[static_cast<std::size_t>(index)];
    link.path.delegated = should_delegate(index, costs);
    if (link.path.delegated) link.path.delegates = delegates_for(index, costs);
    if (!link.slow && !link.damper.holds()) link.reported_s = 0;
  }
}

void AdaptationController::damp_flapping() {
  if (settings_.paths != PathChoice::automatic) return;
  for (Link& link : links_)
    link.damper.add(link.path.delegated && (link.slow || !link.condition.direct_usable));
}

bool AdaptationController::should_delegate(int index, const PipelineCosts& costs) const {
  const Link& link = links_[static_cast<std::size_t>(index)];
  if (settings_.paths != PathChoice::automatic) return settings_.paths == PathChoice::delegated_only;
  if (!link.condition.direct_usable) return true;
  if (!link.slow || link.path.delegated) return link.slow || link.damper.holds();
  // A slow link whose copies would cost more than its queue does stays where it is.
  std::vector<char> delegated = delegated_links();
  const double direct_s = predict_s(running_, costs, settings_.direct, delegated);
  delegated[static_cast<std::size_t>(index)] = 1;
  PipelineCosts copied = costs;
  copied.link_delay_s[static_cast<std::size_t>(index)] += settings_.delegate_overhead_s;
  return predict_s(running_, copied, settings_.direct, delegated) <= direct_s;
}

// Consumption keeps up with production (section 5.2): a delegate is busy with a message for as long as it
// travels, and while forwards or gradients follow each other without a pause, one is produced every F or
// every B. One delegate more takes up the unevenness; a number that is a little high already stays.
int AdaptationController::delegates_for(int index, const PipelineCosts& costs) const {
  const auto link = static_cast<std::size_t>(index);
  const double interval_s = std::min(costs.stages[link].forward_s, costs.stages[link + 1].backward_input_s);
  const int most = std::min(settings_.max_delegates, microbatches_);
  const int wanted = std::min(most, comm::delegates_needed(costs.link_delay_s[link], interval_s) + 1);
  const LinkPath& now = links_[link].told;
  return now.delegated && now.delegates >= wanted && now.delegates <= 2 * wanted ? now.delegates : wanted;
}

// A delegate's message is timed from the end of the first copy to the end of the second: what the network
// took, which is what the direct path would meet too, is less by a copy.
PipelineMeasurement AdaptationController::without_copies(PipelineMeasurement measurement) const {
  const double copy_s = settings_.delegate_overhead_s / 2;
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!links_[link].condition.delegated) continue;
    for (LinkMeasurement* direction : {&measurement.down[link], &measurement.up[link]}) {
      direction->delay_s = std::max(0.0, direction->delay_s - copy_s);
      direction->overhead_s += copy_s;
    }
  }
  return measurement;
}

// What the evaluator cannot explain it cannot mend: where ranks share cores, say, iterations take longer than
// passes and messages make them. Only gains beyond that are believed.
void AdaptationController::compare_with_evaluator(const PipelineMeasurement& measurement) {
  constexpr int kMemory = 4;
  const auto broke = [](const Link& link) { return link.condition.just_broke(); };
  if (std::any_of(links_.begin(), links_.end(), broke)) return;  // the next one will not be like it
  PipelineCosts costs{.stages = {}, .link_delay_s = forecast_.costs().link_delay_s};
  for (const StageMeasurement& stage : measurement.stages)
    costs.stages.push_back({stage.forward_s, stage.backward_input_s, stage.backward_weight_s});
  std::vector<char> delegated;
  for (std::size_t link = 0; link < links_.size(); ++link) {
    delegated.push_back(links_[link].condition.delegated);
    double delay_s = 0;
    for (const LinkMeasurement& direction : {measurement.down[link], measurement.up[link]})
      if (direction.samples > 0 && !direction.at_most)
        delay_s = std::max(delay_s, direction.delay_s + (delegated.back() ? direction.overhead_s : 0));
    if (delay_s > 0) costs.link_delay_s[link] = delay_s;
  }
  const double difference_s =
      measurement.iteration_s - predict_s(running_, costs, settings_.direct, delegated);
  if (!std::isfinite(difference_s) || measurement.iteration_s <= 0) return;
  compared_ = std::min(compared_ + 1, kMemory);
  unexplained_s_ += (difference_s - unexplained_s_) / compared_;
}

double AdaptationController::least_gain_s(double iteration_s) const {
  return std::max(settings_.gain * iteration_s, std::abs(unexplained_s_));
}

}  // namespace tenax::resilience
