// Options of the subcommands: positional arguments and --name value pairs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace tenax::app {

/// Which options a subcommand takes: with a value, or as a flag.
struct OptionTable {
  std::string command;
  std::vector<std::string> with_value;
  std::vector<std::string> flags;
  int min_positional = 0, max_positional = 0;
};

class CommandLine {
 public:
  /// Throws Error(usage) for an unknown option, a missing value, or another number of
  /// positional arguments.
  CommandLine(const OptionTable& table, const std::vector<std::string>& arguments);

  const std::vector<std::string>& positional() const { return positional_; }
  bool has(const std::string& option) const { return values_.contains(option); }
  std::string text(const std::string& option, const std::string& otherwise) const;
  /// Throws Error(usage) unless the value is one of `choices`; `otherwise` need not be.
  std::string one_of(const std::string& option, const std::string& otherwise,
                     std::initializer_list<const char*> choices) const;
  /// Throws Error(usage) unless the value is a number in [low, high].
  std::int64_t integer(const std::string& option, std::int64_t otherwise, std::int64_t low,
                       std::int64_t high) const;
  double real(const std::string& option, double otherwise, double low, double high) const;

 private:
  std::string command_;
  std::vector<std::string> positional_;
  std::map<std::string, std::string> values_;
};

}  // namespace tenax::app
