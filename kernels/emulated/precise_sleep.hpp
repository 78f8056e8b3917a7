// Sleeping to a point in time, as exactly as the system can without spinning.
#pragma once

namespace tenax::kernels {

/// Now, in seconds of std::chrono::steady_clock: the clock of Event::time_s().
double steady_now_s();

/// Sleeps until steady_now_s() is at least `time_s`; returns at once when it is already. Absolute, so that
/// sleeps in sequence do not add up their lateness.
void sleep_until_s(double time_s);

}  // namespace tenax::kernels
