// The pipeline of the last profiled step, as it was and as it was planned, for a report.
#pragma once

#include <string>

#include "io/run/trace_file.hpp"

namespace tenax::app {

/// HTML: two Gantt charts to one scale, bubbles marked, and a table of the stages' bubbles. Of the first pipeline and
/// its first tensor rank where there are several. "Planned": what the evaluator gives for the order that the ranks were
/// to run, each pass as long as its median in the step, each link's delay that of its quickest message.
std::string pipeline_html(const io::TraceFile& trace);

}  // namespace tenax::app
