#include "tests/resilience/membership/world_state.hpp"

#include <algorithm>

#include "tests/resilience/membership/ledger_replay.hpp"

namespace tenax::resilience {

bool WorldState::has_exited() const {
  return std::any_of(processes.begin(), processes.end(),
                     [](const Process& it) { return it.life == Life::exited; });
}

bool WorldState::is_over() const {
  return has_exited() && std::none_of(processes.begin(), processes.end(),
                                      [](const Process& it) { return it.life == Life::running; });
}

const WorldState::Process* WorldState::source_for(const Process& process) const {
  for (const Process& other : processes) {
    const auto& epoch = other.member.epoch();
    if (other.life == Life::running && epoch && epoch->number == process.epoch &&
        other.member.progress().done() == process.step)
      return &other;
  }
  return nullptr;
}

const WorldState::Exchange* WorldState::exchange_of(const Process& process) const {
  const auto found = exchanges.find({process.epoch, process.step});
  return found == exchanges.end() ? nullptr : &found->second;
}

std::string WorldState::contradiction() const {
  const LedgerReplay replay(records);
  if (!replay.contradiction().empty()) return replay.contradiction();
  std::map<std::int64_t, std::uint64_t> states;
  for (std::int64_t done = 0; done <= replay.done(); ++done) states[done] = replay.state_after(done);
  for (const Checkpoint& it : checkpoints)
    if (states.emplace(it.done, it.state).first->second != it.state) return "a checkpoint is not of the run";
  for (const Process& it : processes) {
    const std::int64_t done = it.member.progress().done();
    const auto& epoch = it.member.epoch();
    const bool counts = (it.life == Life::running || it.life == Life::stopped) && !it.is_lost;
    if (!counts || done < 0 || !epoch || epoch->number != replay.epoch().epoch) continue;
    if (states.emplace(done, it.state).first->second != it.state) return "there are two results of a step";
  }
  if (!is_over()) return {};
  const Checkpoint& last = checkpoints.back();
  if (last.done > replay.done() || last.state != replay.state_after(last.done))
    return "the last checkpoint is not of the run";
  if (!stop_wished && (replay.done() != options.train_steps || last.done != replay.done()))
    return "the run ended early";
  return {};
}

}  // namespace tenax::resilience
