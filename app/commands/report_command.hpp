// `tenax report RUNDIR …`: runs as one page of pictures.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// Throws Error; returns the exit status.
int report_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
