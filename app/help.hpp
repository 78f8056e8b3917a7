// The texts of --help.
#pragma once

#include <string>

namespace tenax::app {

std::string general_help();
/// Empty if there is no such command.
std::string command_help(const std::string& command);
/// Commands of the contract whose machinery this version does not have.
bool comes_later(const std::string& command);

}  // namespace tenax::app
