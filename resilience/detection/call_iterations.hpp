// The iteration times of a call log.
#pragma once

#include <optional>
#include <vector>

#include "io/run/call_log.hpp"
#include "resilience/detection/call_anchor.hpp"
#include "resilience/detection/call_stretches.hpp"

namespace tenax::resilience {

/// Of one iteration of a program that is known by its calls.
struct CallIteration {
  double seconds = 0;      ///< from its first call to the next iteration's
  bool is_masked = false;  ///< other calls followed before the next iteration, or came in its midst
};

/// The iterations of `period`, which was found in `log`, from the first whole one on. An iteration
/// begins where most stretches do. One that other calls follow (an evaluation) is masked; it takes
/// as long as up to its last call, and from there to the next iteration where nothing is in
/// between. One with other calls in its midst is masked too, and has their time; so is one of
/// no time at all. The last iteration, which no call follows, is left out. Pure.
std::vector<CallIteration> call_iterations(const io::CallLog& log, const CallStretches& period);

/// Those between the calls of an anchor; masked are the unusual ones. Pure.
std::vector<CallIteration> call_iterations(const io::CallLog& log, const AnchoredCalls& calls);

/// By the log's period, else by an anchor, first with all bytes, then without those that keep
/// changing. None where the calls have neither. Pure.
std::optional<std::vector<CallIteration>> find_call_iterations(const io::CallLog& log);

}  // namespace tenax::resilience
