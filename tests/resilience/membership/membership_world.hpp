// MembershipWorld: a service, replicas and their links, in which everything that can happen next is an action.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/resilience/membership/world_action.hpp"
#include "tests/resilience/membership/world_choices.hpp"
#include "tests/resilience/membership/world_state.hpp"

namespace tenax::resilience {

class MembershipWorld {
 public:
  using Options = WorldOptions;
  explicit MembershipWorld(Options options);

  /// As WorldChoices has them.
  std::vector<WorldAction> actions() const { return WorldChoices(state_).actions(); }
  std::vector<WorldAction> faults() const { return WorldChoices(state_).faults(); }
  std::optional<WorldAction> next() const { return WorldChoices(state_).next(); }
  void apply(WorldAction action);

  bool is_over() const { return state_.is_over(); }
  /// What is wrong with the world; empty if nothing.
  std::string violation() const;
  std::uint64_t hash() const;
  const std::vector<Record>& records() const { return state_.records; }

 private:
  using Kind = WorldAction::Kind;
  using Life = WorldState::Life;
  using Place = WorldState::Place;
  using Checkpoint = WorldState::Checkpoint;
  using Process = WorldState::Process;
  using Entry = WorldState::Entry;
  using Exchange = WorldState::Exchange;

  MembershipOptions service_options() const;
  MembershipMember::Options member_options(ReplicaId id) const;
  void add_process(ReplicaId id);

  void happen(WorldAction action);
  void act(Kind kind, Process& process);
  void deliver_to_service(Process& process);
  void deliver_to_member(Process& process);
  void connect(Process& process);
  void begin(Process& process);
  void enter(Process& process);
  void complete(Process& process);
  void fail(Process& process, int suspect);
  void save(Process& process, std::int64_t done);
  void end(Process& process, Life life);
  void crash_service(bool with_host);
  void restart_service();
  void tick(const Process* silent);
  void flush(Process& process);
  void drain_service();
  void handle(const ServiceEvent& event);
  void check(bool holds, const std::string& what);

  WorldState state_;
  std::string violation_;
};

}  // namespace tenax::resilience
