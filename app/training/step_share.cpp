#include "app/training/step_share.hpp"

namespace tenax::app {

// Steps that are exceptional have shares that do not last.
void StepShare::begin(const std::vector<StepRound>& rounds, bool is_apart) {
  samples_ = 0;
  for (const StepRound& round : rounds) samples_ += round.samples.count;
  is_whole_ = rounds.size() == 1;
  is_apart_ = is_apart;
  if (is_exceptional() || samples_ == 0) return;
  has_changed_ = has_changed_ || (last_ > 0 && last_ != samples_);
  last_ = samples_;
}

double StepShare::load() const {
  return samples_ == 0 ? 1 : static_cast<double>(samples_) / static_cast<double>(usual_);
}

}  // namespace tenax::app
