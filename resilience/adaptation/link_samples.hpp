// What is measured about links and passes in an iteration, as data: the planner and the detector see nothing
// else.
#pragma once

#include <optional>
#include <vector>

namespace tenax::resilience {

/// One message's journey, times in seconds of the receiving rank's steady clock (the sender's already
/// converted).
struct LinkSample {
  int microbatch = 0;
  double ready_s = 0;  ///< its tensor was computed and handed to the link
  /// Its transmission began (after earlier messages of its queue); absent where the link cannot tell (MPI).
  std::optional<double> started_s = std::nullopt;
  double arrived_s = 0;  ///< known complete at the receiver
  /// False: the receiver was busy and may have noticed late, so arrived_s is an upper bound.
  bool prompt = true;
  /// Not there yet when the receiver last looked: how late it noticed, at most. Absent where the link notes arrivals itself.
  std::optional<double> absent_s = std::nullopt;
};

/// One direction of one link in one iteration.
struct LinkMeasurement {
  double delay_s = 0;  ///< robust estimate: transmission start to arrival
  double late_s = 0;  ///< the delay may be less by this much: receivers that share cores notice arrivals late
  double spread_s = 0;  ///< how much messages differ, as a standard deviation (from quartiles)
  double overhead_s =
      0;  ///< least time from ready to transmission start: what the path itself adds (host copies)
  double error_s = 0;    ///< clock alignment's bound
  int samples = 0;       ///< that the estimate rests on; 0: nothing was measured
  bool at_most = false;  ///< no arrival was noticed promptly: the delay is delay_s or less

  double at_least_s() const { return at_most ? 0 : delay_s - late_s; }
  bool operator==(const LinkMeasurement&) const = default;
};

/// One stage in one iteration: medians over microbatches.
struct StageMeasurement {
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0;
  /// Between the fastest and the slowest pass of a kind: for so long the machine holds a rank up, and what it has to send.
  double stall_s = 0;

  bool operator==(const StageMeasurement&) const = default;
};

/// One pipeline in one iteration.
struct PipelineMeasurement {
  std::vector<StageMeasurement> stages;
  std::vector<LinkMeasurement> down, up;  ///< per link i (stages i, i+1): activations, gradients
  double iteration_s = 0;                 ///< first op's start to last op's end over all stages

  bool operator==(const PipelineMeasurement&) const = default;
};

}  // namespace tenax::resilience
