// How actions against slow components read: in events.jsonl and on the console.
#pragma once

#include <string>

#include "app/training/fail_slow_text.hpp"
#include "io/json.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/mitigation/mitigation.hpp"

namespace tenax::app {

/// The details of `mitigate` and `revert` (contract/failslow.md, B).
io::JsonObject mitigation_details(const resilience::MitigationRecord& record, const FailSlowText& components,
                                  const parallel::GridShape& shape);
/// A sentence for a person.
std::string mitigation_line(const resilience::MitigationRecord& record, const FailSlowText& components);

}  // namespace tenax::app
