#include "comm/verbs.hpp"
#include "comm/verbs/live_ports.hpp"
#include "comm/verbs/path_book.hpp"
#include "comm/verbs/port_list.hpp"
#include "comm/verbs/verbs_listener.hpp"

namespace tenax::comm {
namespace verbs {
namespace {

/// What ends connections over the port; nothing: it can be used.
std::optional<BreakReason> reason_of(const PortChange& change) {
  if (change.kind == PortChange::Kind::lost) return BreakReason::device_lost;
  return change.status.is_usable() ? std::nullopt : std::optional(BreakReason::port_down);
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
    return {.ports = [ports = ports_] { return ports->usable(); },
            .ring_bytes = settings_.ring_bytes,
            .path = {settings_.silence_s, settings_.service_level, settings_.traffic_class},
            .gpu_direct = settings_.gpu_direct,
            .first_turn = static_cast<std::size_t>(settings_.local_rank),
            .book = book_};
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

std::unique_ptr<VerbsRank> create_verbs_rank(const VerbsSettings& settings) {
  return std::make_unique<verbs::WatchedRank>(settings);
}

}  // namespace tenax::comm
