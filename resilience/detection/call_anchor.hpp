// The call with which iterations begin, of a program whose calls change their order from one
// iteration to the next: threads that race, messages that are sent as they become ready.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "resilience/detection/call_sequence.hpp"

namespace tenax::resilience {

/// Iteration i has the calls [begins[i], begins[i + 1]); the last begin ends the last one.
struct AnchoredCalls {
  std::vector<std::size_t> begins;
  std::vector<bool> is_usual;  ///< of each iteration: it has the calls that most have, in any order
};

/// The most frequent kind of call from one of which to the next seven times in eight the same calls
/// come, in any order, eight times or more; they are half of all calls, and three quarters of those
/// from the first to the last. Where others come in between, is_iteration() decides. O(n), and
/// pure. None if there is no such kind.
std::optional<AnchoredCalls> find_call_anchor(const CallSequence& sequence);

}  // namespace tenax::resilience
