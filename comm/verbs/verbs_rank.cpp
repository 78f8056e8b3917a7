#include "comm/verbs.hpp"

#include <algorithm>

#include "comm/verbs/gid_choice.hpp"
#include "comm/verbs/live_ports.hpp"
#include "comm/verbs/path_book.hpp"
#include "comm/verbs/ports.hpp"
#include "comm/verbs/verbs_listener.hpp"

namespace tenax::comm {
namespace verbs {
namespace {

/// What ends connections over the port; nothing: it can be used.
std::optional<BreakReason> reason_of(const PortChange& change) {
  if (change.kind == PortChange::Kind::lost) return BreakReason::device_lost;
  return change.status.is_usable() ? std::nullopt : std::optional(BreakReason::port_down);
}

/// A port as people are told of it.
VerbsPort described(const PortStatus& status) {
  VerbsPort port;
  port.name = status.name;
  port.state = status.state;
  port.obstacle = status.obstacle;
  if (!status.port.device) return port;
  port.link_layer = status.port.link_layer == LinkLayer::infiniband ? "InfiniBand" : "Ethernet";
  port.mtu_bytes = status.port.mtu_bytes;
  port.gbps = status.port.gbps;
  port.numa_node = status.port.numa_node;
  if (status.port.gid == Gid{}) return port;
  port.gid_index = status.port.gid_index;
  port.gid = gid_text(status.port.gid);
  return port;
}

class WatchedRank final : public VerbsRank {
 public:
  explicit WatchedRank(const VerbsSettings& settings)
      : settings_(settings),
        book_(std::make_shared<PathBook>(settings.has_other_ways,
                                         [this](const std::string& port) { ports_->report_failure(port); })),
        ports_(std::make_shared<LivePorts>(settings.ports, settings.local_rank,
                                           [this](const PortChange& change) { take(change); })) {}

  std::vector<VerbsPort> ports() const override {
    std::vector<VerbsPort> all;
    for (const PortStatus& status : ports_->all()) all.push_back(described(status));
    return all;
  }

  std::function<std::unique_ptr<Listener>(const TransportOptions&, Identity, PendingConnections&)> listener()
      const override {
    return
        [options = options()](const TransportOptions& transport, Identity me, PendingConnections& pending) {
          return create_verbs_listener(options, transport, me, pending);
        };
  }

 private:
  VerbsOptions options() const {
    std::vector<Port> wanted;
    for (const PortStatus& status : ports_->all()) {
      wanted.push_back(status.port);
      wanted.back().device = nullptr;  // one that is lost must close
    }
    return {.ports = [ports = ports_] { return ports->usable(); },
            .wanted = wanted,
            .ring_bytes = settings_.ring_bytes,
            .path = {settings_.silence_s, settings_.service_level, settings_.traffic_class},
            .gpu_direct = settings_.gpu_direct,
            .first_turn = first_turn(wanted),
            .book = book_};
  }
  /// Ranks that have near ports share them with those of their node alone.
  std::size_t first_turn(const std::vector<Port>& wanted) const {
    const bool has_far =
        std::any_of(wanted.begin(), wanted.end(), [](const Port& port) { return !port.is_near; });
    return static_cast<std::size_t>(has_far ? settings_.place_on_node : settings_.local_rank);
  }
  void take(const PortChange& change) {
    book_->port_changed(change.status.name, reason_of(change));
    if (settings_.on_port_change)
      settings_.on_port_change({change.status.name, name_of(change.kind), change.status.obstacle});
  }

  const VerbsSettings settings_;
  const std::shared_ptr<PathBook> book_;
  const std::shared_ptr<LivePorts> ports_;
};

}  // namespace
}  // namespace verbs

bool has_verbs() { return true; }

std::vector<VerbsPort> verbs_ports(const VerbsPortOptions& options) {
  const verbs::Ports ports(options, std::nullopt);
  std::vector<VerbsPort> described_ports;
  for (const verbs::PortStatus& status : ports.all()) described_ports.push_back(verbs::described(status));
  return described_ports;
}

std::unique_ptr<VerbsRank> create_verbs_rank(const VerbsSettings& settings) {
  return std::make_unique<verbs::WatchedRank>(settings);
}

}  // namespace tenax::comm
