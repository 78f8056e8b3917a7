#include "resilience/mitigation/action.hpp"

#include <sstream>
#include <vector>

#include "kernels/number_text.hpp"

namespace tenax::resilience {
namespace {

void write(std::ostream& out, const std::vector<int>& numbers) {
  out << ' ' << numbers.size();
  for (const int number : numbers) out << ' ' << number;
}

int read_number(std::string_view& text) {
  return kernels::sent_number<int>(kernels::take_word(text), "a number of an action");
}

std::vector<int> read(std::string_view& text) {
  std::vector<int> numbers;
  for (int count = read_number(text); count > 0; --count) numbers.push_back(read_number(text));
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

Action action_of_text(std::string_view text) {
  Action action{.strategy = static_cast<Strategy>(read_number(text)), .placement = {}};
  action.placement.microbatches = read(text);
  action.placement.group_of_place = read(text);
  while (!text.empty()) {
    const int tensor = read_number(text), stage = read_number(text);
    action.placement.ring_order[{tensor, stage}] = read(text);
  }
  return action;
}

}  // namespace tenax::resilience
