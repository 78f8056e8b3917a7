#include "tests/resilience/membership/membership_explorer.hpp"

#include <optional>
#include <utility>

namespace tenax::resilience {
namespace {

constexpr std::size_t kLongestPath = 300;

}  // namespace

void MembershipExplorer::explore(const MembershipWorld& start, int faults) {
  visit(start, faults);
  while (!frames_.empty() && violation_.empty()) {
    Frame& top = frames_.back();
    if (top.next == top.actions.size()) {
      frames_.pop_back();
      continue;
    }
    const std::size_t chosen = top.next++;
    MembershipWorld world = top.world;
    world.apply(top.actions[chosen]);
    ++transitions_;
    visit(std::move(world), top.faults - (chosen >= top.harmless ? 1 : 0));
  }
}

void MembershipExplorer::visit(MembershipWorld world, int faults) {
  const auto [seen, is_new] = seen_.try_emplace(world.hash(), faults);
  if (!is_new && seen->second >= faults) return;
  if (is_new) look_at(world);
  seen->second = faults;
  Frame frame{.world = std::move(world), .actions = {}, .faults = faults};
  frame.actions = frame.world.actions();
  frame.harmless = frame.actions.size();
  if (faults > 0 && !frame.world.is_over())
    for (const WorldAction& fault : frame.world.faults()) frame.actions.push_back(fault);
  frames_.push_back(std::move(frame));
  if (frames_.size() > kLongestPath && violation_.empty()) violation_ = "a run that does not end:" + path();
}

// From each state one way goes on without a fault: it must come to the end of the run. Ways that meet are walked once.
void MembershipExplorer::look_at(MembershipWorld world) {
  std::string why = world.violation(), way;
  std::unordered_set<std::uint64_t> states;
  for (std::uint64_t state = world.hash(); why.empty() && !ends_.contains(state); state = world.hash()) {
    const std::optional<WorldAction> next = world.next();
    if (!states.insert(state).second || (!next && !world.is_over()))
      why = "a run that does not come to its end";
    if (!why.empty() || !next) break;
    world.apply(*next);
    way += to_string(*next);
  }
  if (why.empty())
    ends_.insert(states.begin(), states.end());
  else if (violation_.empty())
    violation_ = why + ", after:" + path() + "; then:" + way;
}

std::string MembershipExplorer::path() const {
  std::string text;
  for (const Frame& frame : frames_) {
    if (frame.next == 0) continue;  // the newest
    text += to_string(frame.actions[frame.next - 1]);
  }
  return text;
}

}  // namespace tenax::resilience
