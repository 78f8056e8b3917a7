// The texts of --help.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenax::app {

struct CommandHelp {
  std::string_view name;
  std::string usage;
  std::string_view text;
};

/// The help of the commands on one machine, in the order in which --help shows them.
std::span<const CommandHelp> command_helps();

std::string general_help();
/// Empty if there is no such command.
std::string command_help(const std::string& command);
/// Whether the first argument stands where a deck would: neither a command nor an option.
bool may_be_deck(const std::string& first_argument);
/// Throws Error(usage) where the argument is no deck: an option, or a word that no file has as its
/// name and that no deck would have. Then it names the command that may have been meant.
void check_is_deck(const std::string& first_argument);
/// Throws Error(usage).
[[noreturn]] void fail_unknown_command(const std::string& word);

}  // namespace tenax::app
