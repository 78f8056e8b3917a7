// MembershipWorld: a service, replicas and their links, in which everything that can happen next is an action. Training is
// arithmetic: the state after a step is a number made of the state before and of the parts.
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

struct WorldAction {
  enum class Kind {
    // What goes on by itself.
    to_service,
    to_member,  // the next message, or the end, of a link arrives
    connect,
    begin,
    enter,
    fetch,
    complete,
    abort,
    restore,
    save,
    save_between,
    exit,  // a replica does the next thing
    restart_service,
    restart,
    tick,
    wake,
    // Faults.
    crash,
    stop,
    cut,
    silence,
    fail_exchange,
    crash_service,
    crash_service_host,
    wish_stop,
    wish_leave,
    give_up
  };

  Kind kind = Kind::tick;
  std::size_t process = 0;
};
/// " crash 2"
std::string to_string(WorldAction action);

class MembershipWorld {
 public:
  struct Options {
    int replicas = 3, min_replicas = 1;
    std::int64_t train_steps = 2;
    BatchRule batch = BatchRule::keep;
    bool all_orders = false;     ///< also of actions whose order does not matter
    bool through_text = false;   ///< messages are written and read again
    bool saves_between = false;  ///< writers save checkpoints at any step
    bool leaves = false;         ///< replicas wish to leave, or are given up
  };

  explicit MembershipWorld(Options options);

  /// All that can happen without a fault.
  std::vector<WorldAction> actions() const;
  /// The faults that can happen.
  std::vector<WorldAction> faults() const;
  /// The one that a fair world does next without a fault. Nothing where the run is over, or stuck.
  std::optional<WorldAction> next() const;
  void apply(WorldAction action);

  /// All replicas have ended with status 0.
  bool is_over() const;
  /// What is wrong with the world; empty if nothing.
  std::string violation() const;
  std::uint64_t hash() const;
  const std::vector<Record>& records() const { return records_; }

 private:
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

  using Kind = WorldAction::Kind;
  using Exchange = std::map<int, Entry>;  // by replica

  MembershipOptions service_options() const;
  MembershipMember::Options member_options(ReplicaId id) const;
  void add_process(ReplicaId id);
  bool is_newest(const Process& process) const;
  bool has_exited() const;
  bool can_restart(const Process& process) const;
  std::vector<Kind> actions_of(const Process& process) const;
  const Process* source_for(const Process& process) const;
  const Exchange* exchange_of(const Process& process) const;
  bool can_complete(const Process& process) const;
  bool can_save_between(const Process& process) const;
  bool can_be_given_up(const Process& process) const;
  bool peers_live(const Process& process) const;
  bool is_certain(WorldAction action) const;
  bool hears_at_once(const Process& process) const;
  bool is_heard_at_once(const Process& process) const;
  std::optional<WorldAction> at_once() const;

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

  Options options_;
  double now_ = 0;
  std::optional<MembershipService> service_;
  std::vector<Process> processes_;
  std::vector<Record> records_;
  std::size_t durable_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, Exchange> exchanges_;  // by epoch and step
  std::vector<Checkpoint> checkpoints_{{}};
  bool stop_wished_ = false;
  std::set<int> given_up_;
  std::string violation_;
};

}  // namespace tenax::resilience
