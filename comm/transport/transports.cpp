#include "comm/transport/transports.hpp"

#include <cassert>

#include "comm/poll.hpp"
#include "comm/transport/door.hpp"
#include "comm/transport/socket.hpp"
#include "comm/wording.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

/// One or more doors to one lobby.
class DoorTransport final : public Transport {
 public:
  explicit DoorTransport(const TransportOptions& options) : me_(Identity::random()) {
    if (options.kind != TransportKind::tcp) doors_.push_back(create_shared_memory_door(options, me_, lobby_));
    if (options.kind != TransportKind::shared_memory) doors_.push_back(create_tcp_door(options, me_, lobby_));
  }

  std::vector<std::string> addresses() const override {
    std::vector<std::string> all;
    for (const std::unique_ptr<Door>& door : doors_)
      for (std::string& address : door->addresses()) all.push_back(std::move(address));
    return all;
  }

  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override {
    const std::optional<Identity> there = Identity::of_address(address);
    const std::string what = "connecting to " + peer.name + " for " + purpose;
    if (!there) throw_link_error(what, "'" + address + "' is not an address that a rank has told");
    for (const std::unique_ptr<Door>& door : doors_)
      if (door->leads_to(address)) {
        try {
          return door->connect(address, {*there, me_, purpose}, deadline);
        } catch (const kernels::Error& error) {
          throw kernels::Error(error.scope(), what + ": " + error.what());
        }
      }
    throw_link_error(what, "no transport of this rank leads to '" + plain_address(address) +
                               "'; set comm.transport alike on all ranks");
  }

  std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                     kernels::Deadline deadline) override {
    const Stopwatch stopwatch;
    const std::string what = "accepting " + peer.name + " for " + purpose;
    const std::optional<Identity> from =
        peer.addresses.empty() ? std::nullopt : Identity::of_address(peer.addresses.front());
    if (!from) throw_link_error(what, "it has no address that this rank could know it by");
    std::unique_ptr<Connection> connection = lobby_.fetch(*from, purpose, deadline);
    if (!connection)
      throw kernels::Error(kernels::Scope::link,
                           gave_up(what, "this rank", stopwatch.elapsed_s(), peer.name));
    return connection;
  }

 private:
  Identity me_;
  Lobby lobby_;
  std::vector<std::unique_ptr<Door>> doors_;  // after the lobby: their threads end first
};

std::unique_ptr<Transport> create(TransportOptions options, TransportKind kind) {
  options.kind = kind;
  return std::make_unique<DoorTransport>(options);
}

}  // namespace

std::unique_ptr<Transport> create_tcp_transport(const TransportOptions& options) {
  return create(options, TransportKind::tcp);
}

std::unique_ptr<Transport> create_shared_memory_transport(const TransportOptions& options) {
  return create(options, TransportKind::shared_memory);
}

std::unique_ptr<Transport> create_transport(const TransportOptions& options) {
  return std::make_unique<DoorTransport>(options);
}

}  // namespace tenax::comm
