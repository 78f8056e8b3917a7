#include "app/training/loop_validation.hpp"

namespace tenax::app {

using kernels::steady_now_s;

bool LoopValidation::is_due(std::int64_t steps_done) const {
  const std::int64_t interval = deck_.run.eval_interval;
  return interval > 0 && steps_done % interval == 0;
}

std::optional<LoopValidation::Result> LoopValidation::run(std::int64_t steps_done) {
  if (deck_.data.validation.empty() || deck_.run.eval_interval == 0 || last_ == steps_done)
    return std::nullopt;
  StepProfile& profile = observation_.profile();
  const parallel::HostPhase phase(profile, "validation");
  const double begin_s = steady_now_s();
  replica_.report(&profile, true);  // what is told below is not the step's
  double sum = 0;
  for (std::int64_t batch = 0; batch < deck_.run.eval_steps; ++batch) {
    sum += replica_.evaluate(batches_.validation(batch));
    replica_.report(nullptr, false);
  }
  last_ = steps_done;
  const auto tokens =
      static_cast<double>(deck_.run.eval_steps * deck_.batch.global_batch_size * deck_.model.seq_length);
  return Result{.loss = sum / tokens, .seconds = steady_now_s() - begin_s};
}

}  // namespace tenax::app
