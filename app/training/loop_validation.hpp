// LoopValidation: the loss on validation data, between the steps of a training loop.
#pragma once

#include <cstdint>
#include <optional>

#include "app/training/step_batches.hpp"
#include "app/training/step_observation.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/replica.hpp"

namespace tenax::app {

/// All that it is made of outlives it.
class LoopValidation {
 public:
  struct Result {
    double loss = 0;     ///< mean of a token's, nats
    double seconds = 0;  ///< that it took
  };

  LoopValidation(const io::Deck& deck, parallel::Replica& replica, StepBatches& batches,
                 StepObservation& observation)
      : deck_(deck), replica_(replica), batches_(batches), observation_(observation) {}

  /// The deck wants it after so many steps, beside the end of a run.
  bool is_due(std::int64_t steps_done) const;
  /// Collective: the mean loss over the first eval_steps global batches of the validation file, the
  /// same ones each time. Nothing where there is no such file, or these weights were validated.
  std::optional<Result> run(std::int64_t steps_done);
  /// Other weights have been loaded.
  void forget() { last_ = -1; }

 private:
  const io::Deck& deck_;
  parallel::Replica& replica_;
  StepBatches& batches_;
  StepObservation& observation_;
  std::int64_t last_ = -1;  // steps done then
};

}  // namespace tenax::app
