// How actions against slow components read: in events.jsonl and on the console.
#pragma once

#include <string>

#include "app/training/fail_slow_text.hpp"
#include "io/json.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/mitigation/mitigation_record.hpp"

namespace tenax::app {

/// The details of `mitigate` and `revert` (contract/failslow.md, B). `before`: the places before the action, in which the
/// components were found.
io::JsonObject mitigation_details(const resilience::MitigationRecord& record, const FailSlowText& components,
                                  const parallel::ProcessGrid& before);
/// A sentence for a person.
std::string mitigation_line(const resilience::MitigationRecord& record, const FailSlowText& components);

}  // namespace tenax::app
