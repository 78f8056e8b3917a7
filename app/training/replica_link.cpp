#include "app/training/replica_link.hpp"

#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <utility>

#include "app/launch/store_link.hpp"
#include "app/units.hpp"
#include "io/checksum.hpp"

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

}  // namespace

resilience::SampleRules sample_rules(const io::Deck& deck) {
  return {.batch = deck.replicas.batch == io::ReplicaBatch::shrink ? resilience::BatchRule::shrink
                                                                   : resilience::BatchRule::keep,
          .global_batch = deck.batch.global_batch_size,
          .replicas = static_cast<int>(deck.parallel.replicas),
          .unit = deck.batch.micro_batch_size * deck.parallel.data_parallel_size};
}

ReplicaLink::ReplicaLink(RunRank& rank, RunMachine& machine, const Build& build) : rank_(rank) {
  const io::ReplicasSection& section = rank.deck().replicas;
  const auto secret = comm::JobSecret::parse(rank.seat()->secret);
  comm::ControlGroup& control = rank.control();
  std::string addresses;
  const std::string interfaces = joined(job_interfaces(rank));
  rank.on_first([&] {
    heartbeat_of_all_.emplace(
        comm::MessageServerOptions{.secret = secret, .listen = {}, .interfaces = parted(interfaces)},
        control.size(), frozen_);
    addresses = joined(heartbeat_of_all_->addresses());
  });
  addresses = control.broadcast(addresses, 0);
  control.agree([&] {
    if (rank.is_first()) return;
    heartbeat_.emplace(
        resilience::RankHeartbeat::Options{
            .secret = secret,
            .leader = parted(addresses),
            .rank = control.rank(),
            .interval_s = kSecondsPerMs * static_cast<double>(section.heartbeat_ms),
            .deadline_s = rank.deck().comm.deadline_s},
        frozen_);
  });
  const auto options = member_options(*machine.transport(), build);
  const std::vector<std::string> hosts = control.all_gather(rank.world().host());
  rank.on_first([&] {
    leader_.emplace(
        resilience::ReplicaLeader::Options{.member = options,
                                           .secret = secret,
                                           .find_service = service_finder(rank),
                                           .connect = machine.message_connector(),
                                           .dead_s = kSecondsPerMs * static_cast<double>(section.dead_ms),
                                           .hosts = hosts},
        *heartbeat_of_all_);
  });
}

// Collective.
resilience::MembershipMember::Options ReplicaLink::member_options(const comm::Transport& transport,
                                                                  const Build& build) const {
  const io::Deck& deck = rank_.deck();
  const std::string resolved = io::to_toml(deck);
  const JoinFile& seat = *rank_.seat();
  return {.id = {seat.replica, static_cast<int>(seat.incarnation)},
          .build = build.text(),
          .deck = io::checksum_text(io::checksum_of_bytes(std::as_bytes(std::span(resolved)), 0)),
          .host = rank_.world().host(),
          .addresses = rank_.control().all_gather(joined(transport.addresses())),
          .samples = sample_rules(deck),
          .train_steps = deck.run.train_steps,
          .heartbeat_s = kSecondsPerMs * static_cast<double>(deck.replicas.heartbeat_ms),
          .service_wait_s = deck.replicas.service_wait_s};
}

}  // namespace tenax::app
