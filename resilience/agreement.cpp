#include "resilience/agreement.hpp"

#include <algorithm>
#include <new>

namespace tenax::resilience {
namespace {

using kernels::Error;
using kernels::Scope;

// On the wire: "+" and the result, or "-", a digit for the scope, and the sentence.
std::string failure_text(Scope scope, const char* sentence) {
  std::string text = "-";
  return text.append(std::to_string(static_cast<int>(scope))).append(sentence);
}

std::string answer_of(const std::function<std::string()>& work) {
  try {
    return work().insert(0, 1, '+');
  } catch (const Error& error) {
    return failure_text(error.scope(), error.what());
  } catch (const std::bad_alloc&) {
    return failure_text(Scope::rank, "out of host memory");
  } catch (const std::exception& error) {
    return failure_text(Scope::rank, error.what());
  }
}

}  // namespace

std::vector<std::string> agreed_answers(comm::ControlGroup& group, const std::function<std::string()>& work) {
  std::vector<std::string> answers = group.all_gather(answer_of(work));
  for (std::string& answer : answers) {
    if (answer[0] == '-') throw AgreedError(static_cast<Scope>(answer[1] - '0'), answer.substr(2));
    answer.erase(0, 1);
  }
  return answers;
}

void agree(comm::ControlGroup& group, const std::function<void()>& work) {
  agreed_answers(group, [&] {
    work();
    return std::string();
  });
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
