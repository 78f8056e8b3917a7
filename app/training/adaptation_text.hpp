// How an adaptation reads: on the console and in events.jsonl.
#pragma once

#include <string>

#include "io/json.hpp"
#include "resilience/adaptation/adaptation_decision.hpp"

namespace tenax::app {

/// "link 2-3 is slow: 30.1 ms".
std::string adaptation_line(const resilience::AdaptationEvent& event);
/// stages, measured_delay_ms, predicted_ms, …: those that apply.
io::JsonObject adaptation_details(const resilience::AdaptationEvent& event);

}  // namespace tenax::app
