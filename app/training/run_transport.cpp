#include "app/training/run_transport.hpp"

#include <algorithm>

#include "app/launch/replica_command.hpp"
#include "app/machine/device_choice.hpp"
#include "app/machine/registered_bytes.hpp"
#include "app/options.hpp"
#include "comm/failure.hpp"
#include "comm/transport/listening_interfaces.hpp"
#include "kernels/host.hpp"

namespace tenax::app {
namespace {

using kernels::Error;
using kernels::Scope;

/// Collective. As with devices: replicas that share a host do not share its first port. Where Slurm chooses among
/// several hosts, the supervisor's slots are not those of a host.
int local_rank_of(RunRank& rank) {
  const io::Deck& deck = rank.deck();
  const int slot =
      slot_of(rank.world(), rank.control(), rank.seat() ? rank.seat()->slots : std::vector<int>{});
  const bool is_slot_known = !deck.replicas.hosts.empty() || !spans_hosts(deck);
  return is_slot_known ? slot : rank.world().rank_on_host();
}

/// Collective: the number `local_rank` without the ranks before this one on its host that are bound to other NUMA nodes.
int place_on_node(RunRank& rank, int local_rank) {
  const std::optional<int> node = kernels::bound_numa_node();
  const std::string here = " " + rank.world().host();
  const std::string mine = (node ? std::to_string(*node) : "any") + here;
  const std::vector<std::string> places = rank.control().all_gather(mine);
  return local_rank - static_cast<int>(std::count_if(places.begin(), places.begin() + rank.world().rank(),
                                                     [&](const std::string& place) {
                                                       return place != mine &&
                                                              place.substr(place.find(' ')) == here;
                                                     }));
}

}  // namespace

// Replicas on hosts of their own are reached on any of these.
std::vector<std::string> job_interfaces(RunRank& rank) {
  const io::Deck& deck = rank.deck();
  const bool is_given = !deck.comm.interfaces.empty() ||
                        deck.comm.transport == io::TransportKind::shared_memory ||
                        (rank.seat() && spans_hosts(deck));
  if (is_given) return deck.comm.interfaces;
  return comm::interfaces_of_job(rank.control(), comm::host_network(rank.world().host()));
}

std::unique_ptr<comm::Transport> RunTransport::create(std::int64_t locked_bytes) {
  const io::CommSection& section = rank_.deck().comm;
  comm::ControlGroup& control = rank_.control();
  const auto secret =
      rank_.seat() ? comm::JobSecret::parse(rank_.seat()->secret) : comm::JobSecret::share(control);
  const std::vector<std::string> interfaces = job_interfaces(rank_);
  local_rank_ = local_rank_of(rank_);
  place_on_node_ = place_on_node(rank_, local_rank_);
  std::unique_ptr<comm::Transport> transport;
  control.agree([&] {
    open_ports(locked_bytes);
    comm::TransportOptions options{.kind = transport_kind(section.transport),
                                   .interfaces = interfaces,
                                   .deadline_s = section.deadline_s,
                                   .secret = secret};
    if (verbs_ && lock_obstacle_.empty() && !verbs_->ports().empty())
      options.create_verbs_listener = verbs_->listener();
    transport = comm::create_transport(options);
  });
  std::vector<RankPorts> ranks;
  for (const std::string& text : control.all_gather(own_ports().text()))
    ranks.push_back(RankPorts::parse(text));
  text_.emplace(transport_kind(section.transport), std::move(ranks));
  return transport;
}

std::unique_ptr<comm::Transport> RunTransport::watch(std::unique_ptr<comm::Transport> transport) {
  return std::make_unique<comm::WatchedTransport>(
      std::move(transport), [this](const comm::Reroute& reroute) { news_.take(reroute); });
}

// Where others will do, a rank without libibverbs has none.
void RunTransport::open_ports(std::int64_t locked_bytes) {
  const comm::TransportKind kind = transport_kind(rank_.deck().comm.transport);
  const bool must = kind == comm::TransportKind::verbs;
  if (!must && (kind != comm::TransportKind::automatic || !comm::has_verbs())) return;
  comm::VerbsSettings settings = verbs_settings(rank_.deck());
  settings.local_rank = local_rank_;
  settings.place_on_node = place_on_node_;
  settings.on_port_change = [this](const comm::VerbsPortChange& change) { news_.take(change); };
  lock_obstacle_ = locked_memory_obstacle(locked_bytes, comm::locked_memory_bytes());
  if (comm::has_verbs()) verbs_ = comm::create_verbs_rank(settings);
  if (must) refuse_without_ports();
}

/// A name that no port has is refused: then there are ports, and maybe none for this rank.
bool RunTransport::names_devices() const { return !rank_.deck().verbs.devices.empty(); }

RankPorts RunTransport::own_ports() const {
  const auto ports = verbs_ ? std::optional(verbs_->ports()) : std::nullopt;
  RankPorts own = RankPorts::of(rank_.world().rank(), rank_.world().host(), ports ? &*ports : nullptr,
                                names_devices() ? std::optional(local_rank_) : std::nullopt);
  if (!own.usable.empty() && !lock_obstacle_.empty()) {
    own.usable.clear();
    own.obstacle = lock_obstacle_;
  }
  return own;
}

void RunTransport::refuse_without_ports() const {
  const RankPorts own = own_ports();
  if (!own.usable.empty()) return;
  const std::string asked = "comm.transport = \"verbs\": " + own.name();
  if (!verbs_) throw Error(Scope::rank, asked + ": " + comm::kNoVerbs);
  if (verbs_->ports().empty())
    throw Error(Scope::rank, asked + " has no RDMA device" +
                                 (names_devices() ? " of its own: " + own.obstacle : " (tenax ports)") +
                                 "; use \"auto\" or \"tcp\"");
  if (own.obstacle == lock_obstacle_) throw Error(Scope::rank, asked + " " + lock_obstacle_);
  throw Error(Scope::rank, asked + " has no port that can be used: " + own.obstacle +
                               "; bring one up, or use \"auto\" or \"tcp\"");
}

}  // namespace tenax::app
