// LoopValidation: the loss on validation data, between the steps of a training loop.
#pragma once

#include <cstdint>
#include <optional>

#include "app/console.hpp"
#include "app/training/loop_peers.hpp"
#include "app/training/loop_records.hpp"
#include "app/training/loop_stop.hpp"
#include "app/training/step_batches.hpp"
#include "app/training/step_observation.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/replica.hpp"

namespace tenax::app {

/// Thread rule: the thread that trains.
class LoopValidation {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    const io::Deck& deck;
    parallel::Replica& replica;
    StepBatches& batches;
    StepObservation& observation;
    LoopPeers& peers;
    LoopRecords& records;
    LoopStop& stop;
    Console& console;
  };
  explicit LoopValidation(const Parts& parts) : parts_(parts) {}

  /// The deck wants it after so many steps, beside the end of a run.
  bool is_due(std::int64_t steps_done) const;
  /// Collective, where a run starts: it is due, and the last start was stopped before it was done.
  bool is_lacking(std::int64_t steps_done) const;
  /// Collective: finds and records the mean loss over the first eval_steps global batches of the validation file, the same ones
  /// each time, unless there is no such file, or these weights were validated. False: a rank wished to stop, which is asked
  /// after each batch, before the last one.
  bool run(std::int64_t steps_done);
  /// Collective: the same after the run's last step, which a stop leaves without.
  void run_last(std::int64_t steps_done);
  /// What has broken off the last run(), equal on every rank; nothing where it came to its end.
  EarlyStop broken_off_by() const { return broken_off_by_; }
  /// Other weights have been loaded.
  void forget() { last_ = -1; }

 private:
  std::optional<double> evaluate(std::int64_t steps_done);
  std::optional<double> sum_of_batches();

  Parts parts_;
  std::int64_t last_ = -1;  // steps done then
  EarlyStop broken_off_by_;
};

}  // namespace tenax::app
