// A schedule as a Gantt chart: as text and as a picture.
#pragma once

#include <string>

#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/timeline.hpp"

namespace tenax::parallel {

/// A Gantt chart: one line a stage of at most `width` columns besides its label. An op is drawn to
/// scale as its code and microbatch where they fit ("F3--"), else as its code's first letter; '.'
/// is a bubble.
std::string draw_gantt(const PipelineSchedule& schedule, const Timeline& timeline, int width = 100);

/// A self-contained SVG: a row a stage, its passes to scale in time, coloured by kind and numbered
/// by microbatch where that fits; what is left of a row's background between them is its bubbles.
/// With title, legend and an axis in milliseconds; follows the viewer's light or dark scheme. The
/// axis goes to `axis_s` at least, so that pictures compare.
std::string draw_gantt_svg(const PipelineSchedule& schedule, const Timeline& timeline,
                           const std::string& title, double axis_s = 0);

}  // namespace tenax::parallel
