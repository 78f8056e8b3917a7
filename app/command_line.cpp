#include "app/command_line.hpp"

#include <algorithm>
#include <charconv>

#include "app/units.hpp"
#include "io/deck/deck_suggest.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

[[noreturn]] void wrong(const std::string& command, const std::string& sentence) {
  throw Error(Scope::usage, command + ": " + sentence + " (see tenax " + command + " --help)");
}

std::string nearest_option(const OptionTable& table, const std::string& name) {
  std::vector<std::string> known = table.with_value;
  known.insert(known.end(), table.flags.begin(), table.flags.end());
  const std::string nearest = io::nearest_name(name, known);
  return nearest.empty() ? nearest : "--" + nearest;
}

bool contains(const std::vector<std::string>& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

template <class Number>
bool parse(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

CommandLine::CommandLine(const OptionTable& table, const std::vector<std::string>& arguments)
    : command_(table.command) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--")) {
      positional_.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (values_.contains(name)) wrong(command_, "--" + name + " is given twice");
    if (contains(table.flags, name) && equals == std::string::npos) {
      values_[name] = "";
    } else if (contains(table.flags, name)) {
      wrong(command_, "--" + name + " takes no value");
    } else if (!contains(table.with_value, name)) {
      wrong(command_, "unknown option --" + name + io::did_you_mean(nearest_option(table, name)));
    } else if (equals != std::string::npos) {
      values_[name] = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      values_[name] = arguments[++i];
    } else {
      wrong(command_, "--" + name + " needs a value");
    }
  }
  const auto count = static_cast<int>(positional_.size());
  if (count < table.min_positional) wrong(command_, "an argument is missing");
  if (count > table.max_positional)
    wrong(command_, "unexpected argument " + positional_[static_cast<std::size_t>(table.max_positional)]);
}

std::string CommandLine::text(const std::string& option, const std::string& otherwise) const {
  const auto entry = values_.find(option);
  return entry == values_.end() ? otherwise : entry->second;
}

std::string CommandLine::one_of(const std::string& option, const std::string& otherwise,
                                std::initializer_list<const char*> choices) const {
  if (!has(option)) return otherwise;
  std::string names;
  for (const char* choice : choices) {
    if (values_.at(option) == choice) return choice;
    names += (names.empty() ? "" : ", ") + std::string(choice);
  }
  wrong(command_, "--" + option + " must be one of " + names + ", not '" + values_.at(option) + "'");
}

std::int64_t CommandLine::integer(const std::string& option, std::int64_t otherwise, std::int64_t low,
                                  std::int64_t high) const {
  if (!has(option)) return otherwise;
  std::int64_t value = 0;
  if (!parse(values_.at(option), value) || value < low || value > high)
    wrong(command_,
          format("--%s must be an integer in [%lld, %lld], not '%s'", option.c_str(),
                 static_cast<long long>(low), static_cast<long long>(high), values_.at(option).c_str()));
  return value;
}

double CommandLine::real(const std::string& option, double otherwise, double low, double high) const {
  if (!has(option)) return otherwise;
  double value = 0;
  if (!parse(values_.at(option), value) || !(value >= low && value <= high))
    wrong(command_, format("--%s must be a number in [%g, %g], not '%s'", option.c_str(), low, high,
                           values_.at(option).c_str()));
  return value;
}

}  // namespace tenax::app
