// `tenax plan DECK`: what a run would be, without training.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// Throws Error. `arguments`: DECK, overrides, --json; --ranks prints just the number of ranks and the run directory
/// (for app/run.sh).
int plan_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
