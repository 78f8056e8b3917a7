// The period of a call log: which calls a training iteration makes, of a program whose iterations
// are known from its MPI and NCCL calls alone.
//
// Greyhound (ATC 2025, 4.2) takes the first lag with an autocorrelation of 0.95 or more. That
// share is wrong in both ways: 49 microbatches in a row and then one exchange of gradients have it
// at the microbatch's lag, and an iteration with an evaluation after every 20 does not have it. So
// the calls are cut into stretches that repeat one period exactly (call_stretches.hpp), and what
// lies between them decides.
#pragma once

#include <optional>
#include <set>

#include "io/run/call_log.hpp"
#include "resilience/detection/call_sequence.hpp"
#include "resilience/detection/call_stretches.hpp"

namespace tenax::resilience {

/// The shortest period that holds three times or more and of which one of these is true:
///
/// - Nothing comes in between. It has half of all calls, before the first and after the last one.
/// - Other calls come in between, after 19 periods or more in the mean (an evaluation), and are at
///   most a quarter of all; and is_iteration() tells the period from a microbatch.
///
/// A call whose bytes keep changing counts as one kind by its name and ranks. None where no period
/// is like that. Pure; O(n log n) for n calls.
std::optional<CallStretches> find_call_period(const io::CallLog& log);

/// Groups whose calls' bytes have no period, looked at alone.
std::set<CallGroup> erratic_groups(const io::CallLog& log);

}  // namespace tenax::resilience
