// WorldState: what a MembershipWorld is made of. Training is arithmetic: the state after a step is a number made of the
// state before and of the parts.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "resilience/membership/membership_member.hpp"
#include "resilience/membership/membership_service.hpp"

namespace tenax::resilience {

struct WorldOptions {
  int replicas = 3, min_replicas = 1;
  std::int64_t train_steps = 2;
  BatchRule batch = BatchRule::keep;
  bool all_orders = false;     ///< also of actions whose order does not matter
  bool through_text = false;   ///< messages are written and read again
  bool saves_between = false;  ///< writers save checkpoints at any step
  bool leaves = false;         ///< replicas wish to leave, or are given up
};

struct WorldState {
  enum class Life { running, stopped, dead, exited };
  enum class Place { free, passes, exchange };

  struct Checkpoint {
    std::int64_t done = 0, next_sample = 0;
    std::uint64_t state = 1;

    template <class See>
    void show(See& see) const {
      see(done, next_sample, state);
    }
  };

  struct Process {
    ReplicaId id;
    MembershipMember member;
    Life life = Life::running;
    bool is_lost = false;  // says the service
    PeerId link = 0;       // 0: none, as this side sees it
    PeerId link_at_service = 0;
    std::deque<MemberMessage> to_service = {};
    std::deque<ServiceMessage> to_member = {};
    bool closed_to_service = false, closed_to_member = false;  // after the messages
    Place place = Place::free;
    std::int64_t epoch = 0, step = 0;  // of the passes or the exchange
    std::vector<Part> parts = {};
    std::uint64_t state = 0;                        // where the member holds one
    std::map<std::int64_t, Checkpoint> saved = {};  // by steps done, under names of its own
    bool wishes_leave = false;
    std::int64_t done_seen = -1;

    /// What a process had in it died with it.
    template <class See>
    void show(See& see) const {
      see(id, life, is_lost, link_at_service, to_service, closed_to_service, saved, wishes_leave);
      if (life != Life::running && life != Life::stopped) return;
      see(member, link, to_member, closed_to_member);
      if (place != Place::free) see(place, epoch, step, parts);
      if (member.progress().done() >= 0) see(state);
    }
  };

  /// What a replica brought into an exchange.
  struct Entry {
    bool is_whole = false;
    std::uint64_t state = 0;
    std::vector<Part> parts;

    template <class See>
    void show(See& see) const {
      see(is_whole, state, parts);
    }
  };
  using Exchange = std::map<int, Entry>;  // by replica

  bool has_exited() const;
  /// All replicas have ended with status 0.
  bool is_over() const;
  /// Who has the state that `process` lacks; null where nobody does.
  const Process* source_for(const Process& process) const;
  /// The one that `process` takes part in; null where nobody has come to it.
  const Exchange* exchange_of(const Process& process) const;
  /// What contradicts the records; empty if nothing.
  std::string contradiction() const;
  template <class See>
  void show(See& see) const {
    see(service, processes, records, durable, exchanges, checkpoints, stop_wished, given_up);
  }

  WorldOptions options;
  double now = 0;
  std::optional<MembershipService> service;
  std::vector<Process> processes;
  std::vector<Record> records;
  std::size_t durable = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, Exchange> exchanges;  // by epoch and step
  std::vector<Checkpoint> checkpoints{{}};
  bool stop_wished = false;
  std::set<int> given_up;
};

}  // namespace tenax::resilience
