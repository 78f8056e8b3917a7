// What is measured about links and passes in an iteration, as data: the planner and the detector see nothing else.
#pragma once

#include <vector>

namespace tenax::resilience {

/// One message's journey, times in seconds of the receiving rank's steady clock (the sender's already converted).
struct LinkSample {
  int microbatch = 0;
  double ready_s = 0;  ///< its tensor was computed and handed to the link
  double started_s =
      0;  ///< its transmission began (after earlier messages of its queue); = ready_s where unknown
  double arrived_s = 0;  ///< known complete at the receiver
  bool prompt =
      true;  ///< false: the receiver was busy and may have noticed late, so arrived_s is an upper bound
};

/// One direction of one link in one iteration.
struct LinkMeasurement {
  double delay_s = 0;  ///< robust estimate: transmission start to arrival
  double error_s = 0;  ///< clock alignment's bound
  int samples = 0;     ///< 0: nothing was measured
};

/// One stage in one iteration: medians over microbatches.
struct StageMeasurement {
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0;
};

/// One pipeline in one iteration.
struct PipelineMeasurement {
  std::vector<StageMeasurement> stages;
  std::vector<LinkMeasurement> down, up;  ///< per link i (stages i, i+1): activations, gradients
  double iteration_s = 0;                 ///< first op's start to last op's end over all stages
};

}  // namespace tenax::resilience
