// Subcommands on files: import, export, inspect.
#pragma once

#include <string>
#include <vector>

#include "app/build.hpp"

namespace tenax::app {

/// Each throws Error; returns the exit status.
int import_command(const std::vector<std::string>& arguments, const Build& build);
int export_command(const std::vector<std::string>& arguments);
int inspect_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
