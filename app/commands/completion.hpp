// Completion of command lines, written for a shell from what --help and --deck-help say.
#pragma once

#include <string>

namespace tenax::app {

/// The completion script for `shell`, "bash" or "zsh". Throws Error(usage) for another.
std::string completion_script(const std::string& shell);

}  // namespace tenax::app
