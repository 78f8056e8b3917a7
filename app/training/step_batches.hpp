// StepBatches: what this rank's pipeline computes in a step or a validation.
#pragma once

#include <cstdint>
#include <vector>

#include "app/training/training_data.hpp"
#include "io/deck/deck.hpp"
#include "parallel/layout/batch_plan.hpp"
#include "parallel/replica/replica.hpp"

namespace tenax::app {

/// Data ranks share samples evenly, until they are told to share the global batch otherwise
/// (Greyhound, ATC 2025, section 5.2, strategy S2). One thread.
class StepBatches {
 public:
  /// All outlive it. `training`, `validation`: null where there is no data; only ranks that read
  /// tokens read them.
  StepBatches(const io::Deck& deck, const parallel::Replica& replica, BatchLoader* training,
              BatchLoader* validation)
      : deck_(deck), replica_(replica), training_(training), validation_(validation) {}

  /// From the next step on: microbatches of each data rank, which sum up to a global batch's. None:
  /// even shares.
  void share(std::vector<int> microbatches) { shares_ = std::move(microbatches); }
  /// None while shares are even.
  const std::vector<int>& shares() const { return shares_; }
  /// Of this rank's pipeline, relative to an even share.
  double load() const;

  /// Windows are valid until the next call.
  parallel::StepBatch training(parallel::SampleRange samples);
  /// The global batch of number `batch` of the validation file; always in even shares.
  parallel::StepBatch validation(std::int64_t batch);

 private:
  parallel::StepBatch load(BatchLoader* loader, const parallel::BatchPlan& plan);
  int data_rank() const { return replica_.coordinates().data; }

  const io::Deck& deck_;
  const parallel::Replica& replica_;
  BatchLoader* training_;
  BatchLoader* validation_;
  std::vector<int> shares_;
};

}  // namespace tenax::app
