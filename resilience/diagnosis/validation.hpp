// Validation: all ranks of a replica hold at the boundary of a step, and test what profiling
// suspects (Greyhound, ATC 2025, section 4.3).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "resilience/diagnosis/device_probe.hpp"
#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

/// What a rank is tested with; all of it outlives the validation.
struct ValidationParts {
  comm::ControlGroup& control;  ///< all ranks of the replica, each by its number in the grid
  const parallel::ProcessGrid& grid;
  kernels::Device& device;
  DeviceProbe& probe;  ///< of `device`
  /// This rank's tensor and data group; null where it has none (Replica::group).
  std::function<comm::Communicator*(parallel::GroupKind)> group;
  /// DeviceProbe::run; empty where the processor does not compute.
  std::function<double()> preempted_s = {};
  double deadline_s = 60;  ///< of each wait for a message
};

/// Equal on all ranks but for `seconds`.
struct ValidationResult {
  std::vector<Component>
      components;          ///< what is slow (validation_findings.hpp); none: nothing, or not any more
  bool is_common = false;  ///< nothing stands out, but all have become slower alike
  std::vector<std::string> tested;  ///< the kinds of groups whose links were tested: "tensor", "data"
  double seconds = 0;               ///< that it took
};

/// What validate() is expected to take: products as long as they were when the run began, and
/// messages at the rates that the request tells, request.seconds at most. Pure.
double expected_seconds(const ValidationRequest& request, const ValidationParts& parts);

/// Collective, while no collective is under way in a group and no pass on the device. The request of
/// rank 0 counts. All ranks test their devices at once; then all groups of a suspect kind test
/// their links, the suspect ones and those to compare with. Takes about request.seconds at most.
/// Throws comm::AgreedError.
ValidationResult validate(const ValidationRequest& request, const ValidationParts& parts);

}  // namespace tenax::resilience
