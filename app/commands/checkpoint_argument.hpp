// What a command that reads a checkpoint is given on its command line.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::app {

/// `argument` itself; or, where it is a run directory or a folder of checkpoints, the newest complete checkpoint there,
/// which is then named on stderr together with newer ones that are not complete. Throws Error(rank) if there is none.
std::filesystem::path checkpoint_of_argument(const std::string& argument);

}  // namespace tenax::app
