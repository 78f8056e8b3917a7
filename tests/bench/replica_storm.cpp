// Thousands of failures of a large run in virtual time, and what a change of its members takes.
//
//   replica_storm [FAILURES (5000)] [REPLICAS (12)] [RANKS OF EACH (8192)]
//
// The storm: one failure in 18 minutes, each repaired in ten, with FT-HSDP's costs; prints what it was worth and the
// processor time of a failure, all of the simulation included. The change: a replica of so many ranks is lost and comes back;
// prints the processor time that the service takes for it, from texts to texts, and that of one member for the new epoch.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "app/simulation/simulation.hpp"
#include "resilience/membership/message_text.hpp"

namespace tenax::bench {
namespace {

using namespace resilience;

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void storm(int failures, int replicas) {
  app::SimulationOptions options;
  options.replicas = replicas;
  options.failure_s = 18 * app::kMinute_s;
  options.repair_s = 10 * app::kMinute_s;
  options.hours = failures * options.failure_s / app::kHour_s;
  options.samples = {.batch = BatchRule::shrink, .global_batch = 8 * replicas, .replicas = replicas};
  options.costs = app::paper_costs();
  const double begin_s = cpu_s();
  const app::SimulationResult result = app::SimulatedRun(options, 1).play();
  const double seconds = cpu_s() - begin_s;
  std::printf(
      "storm: %lld failures, %lld replicas lost, %lld epochs, %lld steps in %.0f hours: effective time %.2f "
      "%%; "
      "%.3f s of a core, %.3f ms a failure\n",
      static_cast<long long>(result.failures), static_cast<long long>(result.losses),
      static_cast<long long>(result.epochs), static_cast<long long>(result.steps), options.hours,
      result.time.effective_percent(), seconds, 1e3 * seconds / static_cast<double>(result.failures));
}

/// A service, and members that answer at once.
class Change {
 public:
  Change(int replicas, int ranks) : replicas_(replicas), service_(options(replicas), {}, 0) {
    for (int rank = 0; rank < ranks; ++rank)
      addresses_.push_back("tcp:10." + std::to_string(rank / 65536) + "." + std::to_string(rank / 256 % 256) +
                           "." + std::to_string(rank % 256) + ":41234#0123456789abcdef");
    for (int replica = 0; replica < replicas; ++replica) come({replica, 1});
  }
  /// Seconds of the service for the loss of replica 1 and for its return.
  double lose() {
    const double begin_s = service_s_;
    timed([&] { service_.on_closed(peer({1, incarnation_}), 0); });
    return service_s_ - begin_s;
  }
  double join() {
    const double begin_s = service_s_;
    come({1, ++incarnation_});
    return service_s_ - begin_s;
  }
  /// Of one member that reads the epoch.
  double member_s() const { return member_s_; }
  std::size_t epoch_bytes() const { return epoch_bytes_; }
  std::int64_t epoch() const { return service_.state().epoch(); }

 private:
  static MembershipOptions options(int replicas) {
    MembershipOptions options;
    options.replicas = replicas;
    options.samples = {.global_batch = 8 * replicas, .replicas = replicas};
    options.train_steps = 1000000;
    return options;
  }
  PeerId peer(ReplicaId id) const { return id.incarnation * replicas_ + id.replica; }
  void come(ReplicaId id) {
    say(id, CheckIn{.id = id, .host = "node", .addresses = addresses_, .done = id.incarnation == 1 ? 0 : -1});
  }
  void say(ReplicaId id, const MemberMessage& message) {
    const std::string text = to_text(message);
    timed([&] { service_.on_message(peer(id), parse_member_message(text), 0); });
  }
  /// What the service's thread does (MembershipServer): work, and its answers as texts.
  template <class Work>
  void timed(Work work) {
    const double begin_s = cpu_s();
    work();
    const ServiceOutput output = service_.take();
    std::vector<std::string> texts;
    for (const OutgoingMessage& outgoing : output.messages) texts.push_back(to_text(outgoing.message));
    service_s_ += cpu_s() - begin_s;
    for (std::size_t i = 0; i < texts.size(); ++i) answer(output.messages[i], texts[i]);
  }
  void answer(const OutgoingMessage& outgoing, const std::string& text) {
    if (std::holds_alternative<NewEpoch>(outgoing.message)) {
      const double begin_s = cpu_s();
      const ServiceMessage read = parse_service_message(text);
      member_s_ = cpu_s() - begin_s;
      epoch_bytes_ = text.size();
      parts_ = std::get<NewEpoch>(read).epoch.parts;
    }
    for (const PeerId to : outgoing.to) {
      const ReplicaId id{static_cast<int>(to % replicas_), static_cast<int>(to / replicas_)};
      if (const auto* freeze = std::get_if<Freeze>(&outgoing.message)) report(id, freeze->change);
      if (const auto* hold = std::get_if<Hold>(&outgoing.message)) report(id, hold->change);
    }
  }
  void report(ReplicaId id, std::int64_t change) {
    say(id, Report{.change = change, .epoch = epoch(), .done = 0, .next_sample = 0});
  }

  const int replicas_;
  MembershipService service_;
  std::vector<std::string> addresses_;
  std::vector<Part> parts_;
  int incarnation_ = 1;
  double service_s_ = 0, member_s_ = 0;
  std::size_t epoch_bytes_ = 0;
};

void change(int replicas, int ranks) {
  constexpr int kRounds = 5;
  Change change(replicas, ranks);
  std::vector<double> lost_s, joined_s;
  for (int round = 0; round < kRounds; ++round) {
    lost_s.push_back(change.lose());
    joined_s.push_back(change.join());
  }
  std::sort(lost_s.begin(), lost_s.end());
  std::sort(joined_s.begin(), joined_s.end());
  std::printf(
      "change of %d x %d ranks: the service takes %.1f ms for a loss, %.1f ms for a join (medians of %d; "
      "epoch %lld); "
      "an epoch is %.2f MB, which a member reads in %.1f ms\n",
      replicas, ranks, 1e3 * lost_s[kRounds / 2], 1e3 * joined_s[kRounds / 2], kRounds,
      static_cast<long long>(change.epoch()), 1e-6 * static_cast<double>(change.epoch_bytes()),
      1e3 * change.member_s());
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  const auto number = [&](int index, int otherwise) {
    return argc > index ? std::atoi(argv[index]) : otherwise;
  };
  const int replicas = number(2, 12);
  tenax::bench::change(replicas, number(3, 8192));
  tenax::bench::storm(number(1, 5000), replicas);
}
