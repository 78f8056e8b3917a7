#include "app/machine/registered_bytes.hpp"

#include <algorithm>

#include "app/options.hpp"
#include "app/units.hpp"
#include "comm/delegates/delegated_link.hpp"
#include "comm/verbs.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/pipeline_context.hpp"

namespace tenax::app {
namespace {

bool may_use_verbs(const io::Deck& deck) {
  return deck.comm.transport == io::TransportKind::verbs ||
         deck.comm.transport == io::TransportKind::automatic;
}

/// A ring to receive into, and one to send from.
std::int64_t connection_bytes(const io::Deck& deck) {
  return 2 * static_cast<std::int64_t>(verbs_settings(deck).ring_bytes);
}

/// With the replicas before and after in the ring. What they exchange is registered too, where that is allowed.
std::int64_t replica_connections(const io::Deck& deck) {
  return deck.parallel.replicas > 1 ? 2 * deck.replicas.connections : 0;
}

std::int64_t message_bytes(const parallel::Layout& layout) {
  return layout.microbatch.rows() * layout.config.hidden_size *
         static_cast<std::int64_t>(kernels::bytes_of(layout.config.compute_dtype));
}

/// This rank's, at either end of its links.
std::int64_t delegates(const io::Deck& deck, const parallel::Layout& layout) {
  if (deck.pipeline.p2p == io::P2p::direct) return 0;
  const std::int64_t neighbours = std::min(layout.grid.pipeline - 1, 2);
  const int sockets = pipeline_options(deck).sockets_per_link;
  return neighbours * (sockets > 0 ? sockets : parallel::kDefaultDelegates);
}

/// A delegate at either end of each direction has a connection.
std::int64_t connections(const io::Deck& deck, const parallel::Layout& layout) {
  return 2 * delegates(deck, layout) + replica_connections(deck);
}

}  // namespace

std::int64_t registered_bytes(const io::Deck& deck, const parallel::Layout& layout,
                              const kernels::Device& device) {
  if (!may_use_verbs(deck)) return 0;
  const bool has_buffers = device.has_data() && !device.is_host_memory();
  const std::int64_t buffers =
      has_buffers ? delegates(deck, layout) * comm::kBuffersPerDelegate * message_bytes(layout) : 0;
  return connections(deck, layout) * connection_bytes(deck) + buffers;
}

std::int64_t locked_bytes(const io::Deck& deck, const parallel::Layout& layout,
                          const kernels::Device& device) {
  const std::int64_t queues =
      may_use_verbs(deck) ? connections(deck, layout) * comm::queue_bytes(verbs_settings(deck).ring_bytes)
                          : 0;
  return registered_bytes(deck, layout, device) + queues;
}

std::string locked_memory_obstacle(std::int64_t locked_bytes, std::optional<std::int64_t> allowed) {
  constexpr double kMib = 1 << 20;
  if (!allowed || locked_bytes <= *allowed) return {};
  return format("may lock %.1f MiB and needs %.1f MiB: ", static_cast<double>(*allowed) / kMib,
                static_cast<double>(locked_bytes) / kMib) +
         comm::kLockMore;
}

}  // namespace tenax::app
