// The page of `tenax report`.
#pragma once

#include <string>
#include <vector>

#include "app/report/report_data.hpp"
#include "io/run/trace_file.hpp"

namespace tenax::app {

/// HTML of one run, empty where it has none.
struct RunPictures {
  std::string time;      ///< what became of the time of a run of replicas, and its last hang
  std::string pipeline;  ///< its profiled step
};

/// One self-contained HTML page: style, script and data inside, nothing from the network.
/// `pictures`: of each run.
std::string report_page(const std::vector<RunData>& runs, const std::vector<RunPictures>& pictures);

/// HTML: two Gantt charts to one scale, bubbles marked, and a table of the stages' bubbles. Where
/// there are several pipelines or tensor ranks, it shows the first. "Planned": what the evaluator
/// gives for the order that the ranks were to run, each pass as long as its median in the step,
/// each link's delay that of its quickest message.
std::string pipeline_html(const io::TraceFile& trace);

extern const char* const kReportStyle;
extern const char* const kReportCharts;
extern const char* const kReportPage;  ///< after kReportCharts

}  // namespace tenax::app
