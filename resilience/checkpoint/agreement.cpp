#include "resilience/checkpoint/agreement.hpp"

#include <algorithm>

namespace tenax::resilience {
std::vector<std::string> agreed_answers(comm::ControlGroup& group, const std::function<std::string()>& work) {
  std::string answer;
  group.agree([&] { answer = work(); });
  return group.all_gather(answer);
}

void agree_in_rounds(comm::ControlGroup& group, const std::function<bool()>& work) {
  bool more = true;
  const auto round = [&] {
    if (more) more = work();
    return std::string(more ? "more" : "");
  };
  for (bool any = true; any;) {
    const std::vector<std::string> answers = agreed_answers(group, round);
    any = std::any_of(answers.begin(), answers.end(),
                      [](const std::string& answer) { return !answer.empty(); });
  }
}

}  // namespace tenax::resilience
