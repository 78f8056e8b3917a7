// RecordedSteps: tells the recorder how far a step has come.
#pragma once

#include <cstdint>
#include <optional>

#include "resilience/recorder/recorder.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

/// Waiting for the sums over replicas, and for their votes, are operations of the ranks of equal number of all replicas.
/// Thread rule: state may be sent by any thread, all else is reached by the one that trains.
class RecordedSteps final : public StepPoints {
 public:
  /// Both outlive it.
  RecordedSteps(StepPoints& inner, Recorder& recorder);
  void reach(StepPoint point, std::int64_t step) override;

 private:
  void enter(Recorder::Phase phase, std::int64_t step);

  StepPoints& inner_;
  Recorder& recorder_;
  const int exchange_, vote_;  // channels
  std::optional<Recorder::Ticket> open_;
};

}  // namespace tenax::resilience
