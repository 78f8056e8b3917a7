// Who may include whom: the layer table of ARCHITECTURE.md (copied in the README), as a check.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenax::style {

/// Every violation in the sources below `root`, as "folder/file.hpp:LINE: what is wrong", in path order:
/// an include of a folder above the file's own, an own header not named from the root, a third-party header
/// away from home, and an #if for a back end outside that back end's folder.
std::vector<std::string> layer_violations(const std::filesystem::path& root);

}  // namespace tenax::style
