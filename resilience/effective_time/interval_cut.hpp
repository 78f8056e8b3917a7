// Cuts the time from one committed step to the next by cause.
#pragma once

#include <vector>

#include "resilience/effective_time/step_interval.hpp"
#include "resilience/effective_time/time_by_cause.hpp"

namespace tenax::resilience {

/// What the interval's step would take undisturbed.
struct UndisturbedStep {
  double usual_s = 0;   ///< with the replicas that contribute
  double useful_s = 0;  ///< of them, what all replicas would take for as many samples
};

/// Spans without gap or overlap from the interval's beginning to its end. Pure.
///
/// Survivors of a loss go on with their passes: a loss costs what the step then takes longer than
/// usual. That stall is cut where the loss was told and where the epoch was decided (FT-HSDP, sections
/// 3 and 6.1). Steps that take up to a tenth longer are as usual.
std::vector<TimeSpan> cut(const StepInterval& interval, const UndisturbedStep& work);

/// Gives what `spans` have lost within `window` to the window's cause; evaluation, checkpoints and the
/// share of absent replicas stay.
std::vector<TimeSpan> overlay(const std::vector<TimeSpan>& spans, const TimeSpan& window);

}  // namespace tenax::resilience
