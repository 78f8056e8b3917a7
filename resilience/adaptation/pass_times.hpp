// PassTimes: how long the passes of one stage take, from the records of an iteration.
#pragma once

#include <optional>
#include <vector>

#include "parallel/schedule/schedule_observer.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"

namespace tenax::resilience {

/// Medians over microbatches, and the longest stall of forward and backward-input passes (weight
/// passes may differ: reductions begin in one). A fused backward shows its two parts where it sent
/// the gradient on between them; where it did not (the first stage) they are taken to be in the
/// proportion last seen, at first equal. Passes and transfers may come in any order.
class PassTimes : public parallel::ScheduleObserver {
 public:
  void on_pass(const parallel::PassRecord& pass) override;
  void on_transfer(const parallel::TransferRecord& transfer) override;
  /// Times since the last call. A kind of pass that did not run keeps its last value.
  PassMeasurement take();

 private:
  void split_fused();

  std::vector<double> forward_s_, backward_input_s_, backward_weight_s_;
  std::vector<parallel::PassRecord> fused_;
  std::vector<std::optional<double>> sent_s_;  // by microbatch
  double input_share_ = 0.5;
  PassMeasurement last_;
};

}  // namespace tenax::resilience
