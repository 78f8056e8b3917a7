// DelayEstimator: a link's delay from the journeys of its messages, whatever queued on it and whatever else
// the machine did meanwhile.
#pragma once

#include <span>

#include "resilience/adaptation/link_samples.hpp"

namespace tenax::resilience {

/// One direction of one link, one iteration; `samples` in any order. `clock_error_s`: bound on the conversion
/// of the sender's times. Pure.
///
/// The delay runs from the start of transmission: time in a queue behind earlier messages is not counted.
/// Where the start is unknown the link carries one message after the other, so that a message starts when it
/// is ready and its predecessor has arrived; messages that found the link idle are trusted first, since they
/// are right for any link. The median bears up to half of the messages being held up by something else.
/// Arrivals that were noticed late only bound the delay; of the others late_s says how late they may have been noticed.
LinkMeasurement estimate_delay(std::span<const LinkSample> samples, double clock_error_s);

/// The value below which a share `q` (0 to 1) of `values` lies, interpolated; 0 of none.
double quantile(std::vector<double> values, double q);

}  // namespace tenax::resilience
