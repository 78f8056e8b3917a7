#include "resilience/mitigation/action.hpp"

#include <cstddef>
#include <sstream>
#include <vector>

namespace tenax::resilience {
namespace {

void write(std::ostream& out, const std::vector<int>& numbers) {
  out << ' ' << numbers.size();
  for (const int number : numbers) out << ' ' << number;
}

std::vector<int> read(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<int> numbers(in ? count : 0);
  for (int& number : numbers) in >> number;
  return numbers;
}

}  // namespace

std::string to_text(const Action& action) {
  std::ostringstream out;
  out << static_cast<int>(action.strategy);
  write(out, action.placement.microbatches);
  write(out, action.placement.group_of_place);
  for (const auto& [group, order] : action.placement.ring_order) {
    out << ' ' << group.tensor << ' ' << group.stage;
    write(out, order);
  }
  return out.str();
}

Action action_of_text(const std::string& text) {
  std::istringstream in(text);
  int strategy = 0;
  in >> strategy;
  Action action{.strategy = static_cast<Strategy>(strategy), .placement = {}};
  action.placement.microbatches = read(in);
  action.placement.group_of_place = read(in);
  for (DataGroup group; in >> group.tensor >> group.stage;) action.placement.ring_order[group] = read(in);
  return action;
}

}  // namespace tenax::resilience
