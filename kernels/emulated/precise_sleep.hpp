// Sleeping to a point in time, as exactly as the system can without spinning.
#pragma once

#include "kernels/deadline.hpp"

namespace tenax::kernels {

/// Sleeps until steady_now_s() is at least `time_s`; returns at once when it is already. Absolute, so that
/// sleeps in sequence do not add up their lateness.
void sleep_until_s(double time_s);

}  // namespace tenax::kernels
