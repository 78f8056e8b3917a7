// DelayEstimator: a link's delay from the journeys of its messages, whatever queued on it and
// whatever else the machine did meanwhile.
#pragma once

#include <span>
#include <vector>

#include "parallel/schedule/schedule_observer.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"

namespace tenax::resilience {

/// `arrivals`: the receives of one direction of a link in one iteration, in any order. begin_s is
/// when the sender had the tensor ready, all times are on the receiver's clock; `clock_error_s`
/// bounds the conversion of the sender's. Pure.
///
/// The delay runs from the start of transmission: time in a queue behind earlier messages is not
/// counted. Where the start is unknown the link carries one message after the other, so that a
/// message starts when it is ready and its predecessor has arrived. Messages that found the link
/// idle are trusted first, since they are right for any link. The median bears up to half of the
/// messages being held up by something else. Arrivals that were noticed late only bound the delay;
/// absent_s says how late the others may have been noticed.
LinkMeasurement estimate_delay(std::span<const parallel::TransferRecord> arrivals, double clock_error_s);

/// The value below which a share `q` (0 to 1) of `values` lies, interpolated; 0 of none.
double quantile(std::vector<double> values, double q);

}  // namespace tenax::resilience
