// The page of `tenax report`.
#pragma once

#include <string>
#include <vector>

#include "app/report/report_data.hpp"

namespace tenax::app {

/// One self-contained HTML page: style, script and data inside, nothing from the network. `pipelines`: a run's HTML of its
/// profiled step each, empty where it has none.
std::string report_page(const std::vector<RunData>& runs, const std::vector<std::string>& pipelines);

}  // namespace tenax::app
