// Who may include whom, between layers and between the folders of a layer, as a check.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenax::style {

/// Every violation in the sources below `root`, as "folder/file.hpp:LINE: what is wrong", in path order:
/// an include of a folder above the file's own, an own header not named from the root, a third-party header
/// away from home, an #if for a back end outside that back end's folder, a deck that is named
/// below app/, and two sources that include each other's header.
std::vector<std::string> layer_violations(const std::filesystem::path& root);

/// One line a folder: what its files may include besides each other.
std::string layer_table();

/// What is wrong with the table itself: a folder that may include one that does not stand before it.
std::vector<std::string> table_faults();

}  // namespace tenax::style
