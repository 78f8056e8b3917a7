#include "app/training/step_batches.hpp"

#include "app/options.hpp"

namespace tenax::app {

using parallel::BatchPlan;
using parallel::StepBatch;

double StepBatches::load() const {
  if (shares_.empty()) return 1;
  const int even = batch_plan(deck_, samples_of_step(deck_, 0), data_rank()).microbatches();
  return static_cast<double>(shares_[static_cast<std::size_t>(data_rank())]) / even;
}

StepBatch StepBatches::training(parallel::SampleRange samples) {
  if (samples.count == 0) return {};
  if (shares_.empty()) return load(training_, batch_plan(deck_, samples, data_rank()));
  return load(training_, BatchPlan(samples.first, deck_.batch.micro_batch_size, shares_, data_rank()));
}

StepBatch StepBatches::validation(std::int64_t batch) {
  return load(validation_, batch_plan(deck_, samples_of_step(deck_, batch), data_rank()));
}

StepBatch StepBatches::load(BatchLoader* loader, const BatchPlan& plan) {
  StepBatch batch{.microbatches = plan.microbatches(), .windows = {}};
  if (loader && replica_.reads_tokens()) batch.windows = loader->load(plan);
  return batch;
}

}  // namespace tenax::app
