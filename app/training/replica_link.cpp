#include "app/training/replica_link.hpp"

#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <utility>

#include "app/launch/store_link.hpp"
#include "app/stop_signals.hpp"
#include "app/units.hpp"
#include "io/checksum.hpp"
#include "kernels/deadline.hpp"
#include "kernels/host.hpp"
#include "resilience/replicas/heartbeat_targets.hpp"
#include "resilience/replicas/warm_spare.hpp"

namespace tenax::app {
namespace {

constexpr char kBetweenAddresses = ' ';

std::string joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses)
    text += (text.empty() ? std::string() : std::string(1, kBetweenAddresses)) + address;
  return text;
}

std::vector<std::string> parted(const std::string& text) {
  std::vector<std::string> addresses;
  std::istringstream stream(text);
  for (std::string address; stream >> address;) addresses.push_back(address);
  return addresses;
}

/// What its sums and updates are computed with, where other processors have other ones.
std::string loops_of(const kernels::Device& device) {
  return device.kind() == kernels::DeviceKind::cpu ? kernels::cpu_loops_base() : "";
}

/// By rank: "avx512" where all have the same, else "avx512, from rank 8 on avx2".
std::string loops_text(const std::vector<std::string>& of_rank) {
  std::string text = of_rank.front();
  for (std::size_t rank = 1; rank < of_rank.size(); ++rank)
    if (of_rank[rank] != of_rank[rank - 1])
      text += ", from rank " + std::to_string(rank) + " on " + of_rank[rank];
  return text;
}

/// etcd knows where the service is; so does the join file, which the supervisor in charge has written.
std::function<std::vector<std::string>()> service_finder(const RunRank& rank) {
  std::shared_ptr<StoreLink> store;
  try {
    store = StoreLink::of(rank.deck().replicas);
  } catch (const kernels::Error&) {  // the password is not on every host
  }
  return [store, file = rank.join_file()] {
    try {
      if (store)
        if (auto addresses = store->service(); !addresses.empty()) return addresses;
    } catch (const kernels::Error&) {
    }
    return JoinFile::read(file).service;
  };
}

// The launcher ends a replica that has lost a rank. This one may wait for that rank in MPI: Slurm would wait 30 s for it. At a run's
// end the leader goes too, and SIGTERM may have come before: a rank that can leave has done so long before this one's time is over.
void end_if_terminated() {
  constexpr double kLeaving_s = 3;
  static const double since_s = kernels::steady_now_s();  // there is no hope
  if (kernels::steady_now_s() - since_s > kLeaving_s && StopSignals::is_terminated()) _exit(1);
}

}  // namespace

resilience::SampleRules sample_rules(const io::Deck& deck) {
  return {.batch = deck.replicas.batch == io::ReplicaBatch::shrink ? resilience::BatchRule::shrink
                                                                   : resilience::BatchRule::keep,
          .global_batch = deck.batch.global_batch_size,
          .replicas = static_cast<int>(deck.parallel.replicas),
          .unit = deck.batch.micro_batch_size * deck.parallel.data_parallel_size};
}

ReplicaLink::ReplicaLink(RunRank& rank, RunMachine& machine) : rank_(rank), machine_(machine) {
  const io::ReplicasSection& section = rank.deck().replicas;
  const auto secret = comm::JobSecret::parse(rank.seat()->secret);
  const double dead_s = kSecondsPerMs * static_cast<double>(section.dead_ms);
  comm::ControlGroup& control = rank.control();
  const std::vector<std::string> hosts = control.all_gather(rank.world().host());
  const std::vector<int> targets = resilience::heartbeat_targets(hosts);
  const bool beats_for_others = resilience::beats_for_others(targets, control.rank());
  const std::string interfaces = joined(job_interfaces(rank));
  std::string addresses;
  control.agree([&] {
    if (!rank.is_first() && !beats_for_others) return;
    heard_ranks_.emplace(
        comm::MessageServerOptions{.secret = secret, .listen = {}, .interfaces = parted(interfaces)},
        control.size(), frozen_);
    addresses = joined(heard_ranks_->addresses());
  });
  const std::vector<std::string> addresses_of_rank = control.all_gather(addresses);
  control.agree([&] {
    if (rank.is_first()) return;
    const auto target = static_cast<std::size_t>(targets[static_cast<std::size_t>(control.rank())]);
    heartbeat_.emplace(
        resilience::RankHeartbeat::Options{
            .secret = secret,
            .leader = parted(addresses_of_rank[target]),
            .rank = control.rank(),
            .interval_s = kSecondsPerMs * static_cast<double>(section.heartbeat_ms),
            .deadline_s = rank.deck().comm.deadline_s,
            .host_ranks = beats_for_others ? &*heard_ranks_ : nullptr,
            .dead_s = dead_s,
            .when_hopeless = end_if_terminated},
        frozen_);
  });
}

// A rank waits for the first one no longer than a group's deadline allows.
resilience::ReplicaId ReplicaLink::wait_for_place() {
  const double turn_s = comm::turn_seconds(rank_.deck().comm.deadline_s);
  const io::ReplicasSection& section = rank_.deck().replicas;
  std::optional<resilience::WarmSpare> spare;
  rank_.on_first([&] {
    spare.emplace(
        resilience::WarmSpare::Options{
            .spare = rank_.seat()->spare,
            .secret = comm::JobSecret::parse(rank_.seat()->secret),
            .service = rank_.seat()->service,
            .connect = machine_.message_connector(),
            .heartbeat_s = kSecondsPerMs * static_cast<double>(section.heartbeat_ms),
            .dead_s = kSecondsPerMs * static_cast<double>(section.dead_ms)},
        *heard_ranks_);
  });
  rank_.console().say(format("warm spare %d waits for a replica's place", rank_.seat()->spare));
  std::array<double, 2> place = {-1, -1};  // replica, incarnation
  while (place[0] < 0) {
    rank_.on_first([&] {
      if (const auto id = spare->wait(kernels::Deadline::after_s(turn_s)))
        place = {static_cast<double>(id->replica), static_cast<double>(id->incarnation)};
    });
    rank_.control().all_reduce_max(place);
  }
  return {static_cast<int>(place[0]), static_cast<int>(place[1])};
}

void ReplicaLink::check_in(const Build& build, const std::string& data) {
  const io::ReplicasSection& section = rank_.deck().replicas;
  const auto options = member_options(build, data);
  const std::vector<std::string> hosts = rank_.control().all_gather(rank_.world().host());
  rank_.on_first([&] {
    leader_.emplace(
        resilience::ReplicaLeader::Options{.member = options,
                                           .secret = comm::JobSecret::parse(rank_.seat()->secret),
                                           .find_service = service_finder(rank_),
                                           .connect = machine_.message_connector(),
                                           .dead_s = kSecondsPerMs * static_cast<double>(section.dead_ms),
                                           .hosts = hosts,
                                           .when_hopeless = end_if_terminated},
        *heard_ranks_);
  });
}

// Collective.
resilience::MembershipMember::Options ReplicaLink::member_options(const Build& build,
                                                                  const std::string& data) const {
  comm::ControlGroup& control = rank_.control();
  const bool has_own_net = machine_.has_state_transport();
  const io::Deck& deck = rank_.deck();
  const JoinFile& seat = *rank_.seat();
  return {.id = {seat.replica, static_cast<int>(seat.incarnation)},
          .build = build.text(),
          .deck = io::checksum_text(io::checksum_of_bytes(std::as_bytes(std::span(rank_.deck_text())), 0)),
          .data = data,
          .loops = loops_text(control.all_gather(loops_of(machine_.device()))),
          .host = rank_.world().host(),
          .addresses = control.all_gather(joined(machine_.transport()->addresses())),
          .state_addresses = has_own_net ? control.all_gather(joined(machine_.state_transport().addresses()))
                                         : std::vector<std::string>{},
          .samples = sample_rules(deck),
          .train_steps = deck.run.train_steps,
          .heartbeat_s = kSecondsPerMs * static_cast<double>(deck.replicas.heartbeat_ms),
          .service_wait_s = deck.replicas.service_wait_s};
}

}  // namespace tenax::app
