// `tenax trace RUNDIR --csv`: the profiled step, one row an op.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/run/trace_file.hpp"

namespace tenax::app {

/// The trace of a run directory; of the first replica where there are several. Throws as io::read_trace.
io::TraceFile trace_of_run(const std::filesystem::path& run_directory);

/// Throws Error; returns the exit status.
int trace_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
