// WorldChoices: what can happen next in a world of members and their service.
#pragma once

#include <optional>
#include <vector>

#include "tests/resilience/membership/world_action.hpp"
#include "tests/resilience/membership/world_state.hpp"

namespace tenax::resilience {

class WorldChoices {
 public:
  /// `world` outlives it, and may change.
  explicit WorldChoices(const WorldState& world) : world_(world) {}

  /// All that can happen without a fault.
  std::vector<WorldAction> actions() const;
  /// The faults that can happen.
  std::vector<WorldAction> faults() const;
  /// The one that a fair world does next without a fault. Nothing where the run is over, or stuck.
  std::optional<WorldAction> next() const;

 private:
  using Kind = WorldAction::Kind;
  using Life = WorldState::Life;
  using Place = WorldState::Place;
  using Process = WorldState::Process;
  using Exchange = WorldState::Exchange;

  std::vector<Kind> actions_of(const Process& process) const;
  bool is_newest(const Process& process) const;
  bool can_restart(const Process& process) const;
  bool can_complete(const Process& process) const;
  bool can_save_between(const Process& process) const;
  bool can_be_given_up(const Process& process) const;
  bool peers_live(const Process& process) const;
  bool is_certain(WorldAction action) const;
  bool hears_at_once(const Process& process) const;
  bool is_heard_at_once(const Process& process) const;
  std::optional<WorldAction> at_once() const;

  const WorldState& world_;
};

}  // namespace tenax::resilience
