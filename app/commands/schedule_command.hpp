// `tenax schedule INSTANCE.json`: the schedule planner and evaluator alone.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// Throws Error. `arguments`: INSTANCE.json, then --policy NAME … or --evaluate SCHEDULE.json … (see help.cpp).
int schedule_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
