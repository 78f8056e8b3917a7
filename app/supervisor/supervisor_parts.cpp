#include "app/supervisor/supervisor_parts.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <variant>

#include "app/training/replica_link.hpp"
#include "app/units.hpp"
#include "io/checksum.hpp"
#include "io/run/run_files.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> service_interfaces(const io::Deck& deck) {
  if (!deck.replicas.listen.empty()) return {};
  const bool is_here = !spans_hosts(deck) && deck.comm.interfaces.empty();
  return is_here ? std::vector<std::string>{"lo"} : deck.comm.interfaces;
}

std::map<int, int> newest_incarnations(const std::vector<resilience::Record>& ledger) {
  std::map<int, int> newest;
  for (const resilience::Record& record : ledger)
    if (const auto* epoch = std::get_if<resilience::EpochRecord>(&record))
      for (const auto& member : epoch->members)
        newest[member.id.replica] = std::max(newest[member.id.replica], member.id.incarnation);
  return newest;
}

ReplicaCommand replica_command(const io::Deck& deck) {
  return {.method = launch_method(deck),
          .ranks = static_cast<int>(deck.parallel.ranks()),
          .threads = static_cast<int>(deck.device.threads),
          .hosts = {},
          .remote_shell = deck.replicas.remote_shell,
          .program = fs::read_symlink("/proc/self/exe"),
          .arguments = {},
          .scratch = {},
          .directory = fs::current_path()};
}

RestartPolicy::Options restart_options(const io::Deck& deck) {
  return {.delay_s = deck.replicas.restart_delay_s, .limit = static_cast<int>(deck.replicas.restart_limit)};
}

}  // namespace

resilience::MembershipServer::Options service_options(const io::Deck& deck, const Build& build,
                                                      const std::string& resolved_deck, const HostPool& pool,
                                                      const comm::JobSecret& secret) {
  const io::ReplicasSection& section = deck.replicas;
  std::vector<std::string> zones;
  for (int replica = 0; !section.zones.empty() && replica < static_cast<int>(deck.parallel.replicas);
       ++replica)
    zones.push_back(pool.zone_of(replica));
  const std::uint64_t checksum = io::checksum_of_bytes(std::as_bytes(std::span(resolved_deck)), 0);
  return {.membership = {.replicas = static_cast<int>(deck.parallel.replicas),
                         .min_replicas = static_cast<int>(section.min_replicas),
                         .build = build.text(),
                         .deck = io::checksum_text(checksum),
                         .samples = sample_rules(deck),
                         .train_steps = deck.run.train_steps,
                         .dead_s = kSecondsPerMs * static_cast<double>(section.dead_ms),
                         .digest_steps = section.digest_steps,
                         .unix_time_of_zero = io::unix_time_s() - kernels::steady_now_s(),
                         .zones = zones},
          .messages = {.secret = secret, .listen = section.listen, .interfaces = service_interfaces(deck)},
          .heartbeat_s = kSecondsPerMs * static_cast<double>(section.heartbeat_ms)};
}

HangWatch::Options hang_options(const io::Deck& deck) {
  return {.hang_factor = deck.replicas.hang_factor,
          .dead_s = kSecondsPerMs * static_cast<double>(deck.replicas.dead_ms),
          .join_wait_s = kSecondsPerMs * static_cast<double>(deck.replicas.join_wait_ms),
          .ranks = static_cast<int>(deck.parallel.ranks()),
          .is_near = !spans_hosts(deck)};
}

HostPool host_pool(const io::Deck& deck) {
  const auto hosts = parse_hosts(deck.replicas.hosts, deck.replicas.zones);
  if (hosts.empty()) return {};
  return {hosts, static_cast<int>(deck.parallel.replicas), static_cast<int>(deck.parallel.ranks())};
}

std::vector<SupervisedReplica> supervised_replicas(const io::Deck& deck, const std::string& run_id,
                                                   const HostPool& pool,
                                                   const std::vector<resilience::Record>& ledger) {
  const int count = static_cast<int>(deck.parallel.replicas);
  std::map<int, int> newest = newest_incarnations(ledger);
  std::vector<SupervisedReplica> replicas;
  for (int replica = 0; replica < count; ++replica) {
    ReplicaCommand command = replica_command(deck);
    if (!pool.is_empty()) command.hosts = pool.hosts_of(replica);
    replicas.emplace_back(
        SupervisedReplica::Options{.replica = replica,
                                   .directory = replica_directory(deck.run.output_dir, replica),
                                   .run_id = run_id,
                                   .restart = restart_options(deck),
                                   .command = command},
        newest[replica]);
  }
  return replicas;
}

std::vector<SupervisedReplica> supervised_spares(const io::Deck& deck, const std::string& run_id) {
  const auto now_ms = static_cast<std::int64_t>(kMsPerSecond * io::unix_time_s());
  std::vector<SupervisedReplica> spares;
  for (int spare = 0; spare < static_cast<int>(deck.replicas.warm_spares); ++spare)
    spares.emplace_back(SupervisedReplica::Options{.replica = spare,
                                                   .directory = spare_directory(deck.run.output_dir, spare),
                                                   .run_id = run_id,
                                                   .is_spare = true,
                                                   .restart = restart_options(deck),
                                                   .command = replica_command(deck)},
                        now_ms);
  return spares;
}

}  // namespace tenax::app
