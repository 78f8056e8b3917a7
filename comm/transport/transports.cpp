#include "comm/transport/transports.hpp"

#include <cassert>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/transport/listener.hpp"
#include "comm/transport/socket.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

struct Row {
  TransportKind kind;
  std::function<std::unique_ptr<Listener>(const TransportOptions&, Identity, PendingConnections&)> create;
};

/// A row per kind of transport, in the order in which peers try their addresses.
std::vector<Row> rows(const TransportOptions& options) {
  return {{TransportKind::shared_memory, create_shared_memory_listener},
          {TransportKind::verbs, options.create_verbs_listener},
          {TransportKind::tcp, create_tcp_listener}};
}

/// Listeners of one or more kinds, with their pending connections.
class ListenerTransport final : public Transport {
 public:
  explicit ListenerTransport(const TransportOptions& options) : me_(Identity::random()) {
    for (const Row& row : rows(options))
      if (row.create && (options.kind == row.kind || options.kind == TransportKind::automatic))
        listeners_.push_back(row.create(options, me_, pending_));
    if (listeners_.empty())
      throw kernels::Error(kernels::Scope::job, "this build has no such transport; set comm.transport");
  }

  std::vector<std::string> addresses() const override {
    std::vector<std::string> all;
    for (const std::unique_ptr<Listener>& listener : listeners_)
      for (std::string& address : listener->addresses()) all.push_back(std::move(address));
    return all;
  }

  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override {
    const std::optional<Identity> there = Identity::of_address(address);
    const std::string what = "connecting to " + peer.name + " for " + purpose;
    if (!there) throw_link_error(what, "'" + address + "' is not an address that a rank has told");
    for (const std::unique_ptr<Listener>& listener : listeners_)
      if (listener->can_reach(address)) {
        try {
          return listener->connect(address, {*there, me_, purpose}, deadline);
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
    std::unique_ptr<Connection> connection = pending_.take(*from, purpose, deadline);
    if (!connection)
      throw kernels::Error(kernels::Scope::link,
                           timeout_sentence(what, "this rank", stopwatch.elapsed_s(), peer.name));
    return connection;
  }

  std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    for (const std::unique_ptr<Listener>& listener : listeners_)
      if (auto registration = listener->register_memory(memory)) return registration;
    return nullptr;
  }
  std::unique_ptr<MemoryRegistration> register_device_memory(std::span<std::byte> memory,
                                                             int dma_buf) override {
    for (const std::unique_ptr<Listener>& listener : listeners_)
      if (auto registration = listener->register_device_memory(memory, dma_buf)) return registration;
    return nullptr;
  }

 private:
  Identity me_;
  PendingConnections pending_;
  std::vector<std::unique_ptr<Listener>>
      listeners_;  // after the pending connections: their threads end first
};

}  // namespace

std::unique_ptr<Transport> create_transport(const TransportOptions& options) {
  return std::make_unique<ListenerTransport>(options);
}

}  // namespace tenax::comm
