// ProcessFaults: kills or stops a process when a rank comes to a point of a step.
#pragma once

#include <sys/types.h>

#include <vector>

#include "resilience/faults/fault_occasion.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

struct ProcessFault {
  FaultOccasion occasion;
  StepPoint point = StepPoint::passes;
  pid_t victim = 0;    ///< this process, or the one that started it
  bool stops = false;  ///< SIGSTOP; else SIGKILL
  double stop_s = 0;   ///< until it goes on; 0: never
};

/// Thread rule: any thread.
class ProcessFaults {
 public:
  explicit ProcessFaults(std::vector<ProcessFault> faults) : faults_(std::move(faults)) {}
  /// `run_s`: since the first step began. Where this process is the victim it may not return. Throws Error(rank) where the operating
  /// system refuses.
  void reach(StepPoint point, std::int64_t step, double run_s) const;

 private:
  std::vector<ProcessFault> faults_;
};

}  // namespace tenax::resilience
