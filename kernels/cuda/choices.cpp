#include "kernels/cuda/choices.hpp"

#include <algorithm>
#include <sstream>

namespace tenax::kernels::cuda {
namespace {

const std::string kBetween = " | ", kOn = ", on ";

std::string on_any(const std::string& what) { return what.substr(0, what.rfind(kOn)); }

}  // namespace

std::string text_of_multiprocessors(int count) { return count > 0 ? kOn + std::to_string(count) : ""; }

bool Choices::may_try() const {
  const std::lock_guard lock(mutex_);
  return !is_settled_;
}

void Choices::settle() {
  const std::lock_guard lock(mutex_);
  if (!is_settled_) lent_when_settled_ = lent_;
  is_settled_ = true;
}

void Choices::lend_multiprocessors(int count) {
  const std::lock_guard lock(mutex_);
  lent_ += count;
}

int Choices::lent_multiprocessors() const {
  const std::lock_guard lock(mutex_);
  return lent_;
}

int Choices::multiprocessors_of_products() const {
  const std::lock_guard lock(mutex_);
  const int lent = is_settled_ ? lent_when_settled_ : lent_;
  return lent == 0 ? 0 : std::max(multiprocessors_ - lent, 1);
}

std::optional<std::string> Choices::earlier(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  const auto found = earlier_.find(what);
  return found == earlier_.end() ? std::nullopt : std::optional(found->second);
}

void Choices::cannot_keep(const std::string& what) {
  const std::lock_guard lock(mutex_);
  earlier_.erase(what);
  lost_.insert(what);
}

bool Choices::has_on_others(const std::string& what) const {
  return !earlier_.contains(what) && std::ranges::any_of(earlier_, [&](const auto& earlier) {
    return on_any(earlier.first) == on_any(what);
  });
}

void Choices::choose(const std::string& what, const std::string& how) {
  const std::lock_guard lock(mutex_);
  if (!is_settled_ && has_on_others(what)) lost_.insert(what);
  chosen_[what] = how;
}

// An earlier line gives way to a choice that replaced it.
std::string Choices::text() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> lines = lines_;
  for (const auto& [what, how] : chosen_) {
    const std::string begin = machine_ + kBetween + what + kBetween;
    std::erase_if(lines, [&](const std::string& line) { return line.starts_with(begin); });
    lines.insert(begin + how);
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void Choices::take(const std::string& text) {
  const std::lock_guard lock(mutex_);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(kBetween), second = line.find(kBetween, first + 1);
    if (second == std::string::npos) continue;
    lines_.insert(line);
    if (line.substr(0, first) != machine_) continue;
    const std::size_t what = first + kBetween.size();
    earlier_.emplace(line.substr(what, second - what), line.substr(second + kBetween.size()));
  }
  if (!lines_.empty() && earlier_.empty())
    notes_.push_back(
        "the algorithms of the earlier run were chosen for another GPU or other libraries than " + machine_ +
        ": they are chosen anew, and bits may differ from what that run would compute");
}

void Choices::say(const std::string& note) {
  const std::lock_guard lock(mutex_);
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
}

std::vector<std::string> Choices::notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes = notes_;
  if (!lost_.empty())
    notes.push_back(
        std::to_string(lost_.size()) + (lost_.size() == 1 ? " algorithm" : " algorithms") +
        " of the earlier run cannot be kept: others are chosen, and bits may differ from what that run "
        "would compute");
  return notes;
}

}  // namespace tenax::kernels::cuda
