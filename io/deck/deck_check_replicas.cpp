#include "io/deck/deck_check.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "io/json.hpp"
#include "io/store_url.hpp"

namespace tenax::io {
namespace {

/// The whole of `text` as a number without a sign.
std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) return std::nullopt;
  return number;
}

/// "10.0.0.5:4000", "[fd00::2]:4000"
bool is_address_with_port(const std::string& text) {
  constexpr std::int64_t kMostPort = 65535;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::int64_t port = number_in(std::string_view(text).substr(colon + 1)).value_or(0);
  const bool is_ipv6 = text.front() == '[' && text[colon - 1] == ']';
  const std::string host = is_ipv6 ? text.substr(1, colon - 2) : text.substr(0, colon);
  return port > 0 && port <= kMostPort && !host.empty() &&
         host.find_first_not_of(is_ipv6 ? "0123456789abcdefABCDEF:." : "0123456789.") == std::string::npos;
}

void check_times(const ReplicasSection& replicas, const Origins& origins) {
  constexpr std::int64_t kBeats = 3;  // so that one late beat is no death
  if (replicas.dead_ms < kBeats * replicas.heartbeat_ms)
    origins.fail({"replicas.dead_ms", "replicas.heartbeat_ms"},
                 "replicas.dead_ms = " + std::to_string(replicas.dead_ms) + " must be at least " +
                     std::to_string(kBeats) +
                     " x replicas.heartbeat_ms = " + std::to_string(kBeats * replicas.heartbeat_ms));
}

void check_batch_kind(const Deck& deck, const Origins& origins) {
  const ReplicasSection& replicas = deck.replicas;
  if (replicas.min_replicas > deck.parallel.replicas)
    origins.fail(
        {"replicas.min_replicas", "parallel.replicas"},
        "replicas.min_replicas = " + std::to_string(replicas.min_replicas) +
            " is more than there are: parallel.replicas = " + std::to_string(deck.parallel.replicas));
  if (replicas.lr_intervention != LrIntervention::none && replicas.batch == ReplicaBatch::keep)
    origins.fail({"replicas.lr_intervention", "replicas.batch"},
                 "replicas.lr_intervention = " + json_string(replicas.lr_intervention.word()) +
                     " needs replicas.batch = \"shrink\": with \"keep\" every step has the global batch");
}

/// One for each host; a host may be named again, but it stands in one place.
void check_zones(const ReplicasSection& replicas, const Origins& origins) {
  if (replicas.zones.empty()) return;
  if (replicas.zones.size() != replicas.hosts.size())
    origins.fail({"replicas.zones", "replicas.hosts"},
                 "replicas.zones has " + std::to_string(replicas.zones.size()) + " names for " +
                     std::to_string(replicas.hosts.size()) + " of replicas.hosts: it needs one for each");
  std::map<std::string, std::string> zone_of_host;
  for (std::size_t i = 0; i < replicas.hosts.size(); ++i) {
    const std::string name = replicas.hosts[i].substr(0, replicas.hosts[i].rfind(':'));
    const std::string& known = zone_of_host.emplace(name, replicas.zones[i]).first->second;
    if (known != replicas.zones[i])
      origins.fail({"replicas.zones", "replicas.hosts"},
                   "replicas.hosts has " + json_string(name) + " in two of replicas.zones: " +
                       json_string(known) + " and " + json_string(replicas.zones[i]));
  }
}

void check_places(const ReplicasSection& replicas, const Origins& origins) {
  for (const std::string& host : replicas.hosts)
    if (!is_host_with_slots(host))
      origins.fail({"replicas.hosts"}, "replicas.hosts has " + json_string(host) +
                                           ", which is neither \"NAME\" nor \"NAME:SLOTS\"");
  check_zones(replicas, origins);
  if (replicas.remote_shell.find_first_not_of(' ') == std::string::npos)
    origins.fail({"replicas.remote_shell"},
                 "replicas.remote_shell is empty: it must be a command, for example \"ssh\"");
  if (!replicas.listen.empty() && !is_address_with_port(replicas.listen))
    origins.fail({"replicas.listen"}, "replicas.listen = " + json_string(replicas.listen) +
                                          " is not of the form ADDRESS:PORT, as \"10.0.0.5:4000\" would be");
}

/// Slots of hosts beyond those that replicas need.
void check_spares(const Deck& deck, const Origins& origins) {
  if (deck.replicas.warm_spares == 0) return;
  std::int64_t slots = 0;
  for (const std::string& host : deck.replicas.hosts) {
    const std::size_t colon = host.rfind(':');
    slots += colon == std::string::npos ? 1 : number_in(std::string_view(host).substr(colon + 1)).value_or(0);
  }
  const std::int64_t spares = slots / deck.parallel.ranks() - deck.parallel.replicas;
  if (deck.replicas.warm_spares <= spares) return;
  origins.fail({"replicas.warm_spares", "replicas.hosts"},
               "replicas.warm_spares = " + std::to_string(deck.replicas.warm_spares) +
                   " is more than the spares: replicas.hosts has room for " +
                   std::to_string(std::max<std::int64_t>(spares, 0)) +
                   " beyond those of parallel.replicas = " + std::to_string(deck.parallel.replicas));
}

void check_store(const ReplicasSection& replicas, const Origins& origins) {
  const ParsedStoreUrl store = parse_store_url(replicas.store);
  if (!store.fault.empty())
    origins.fail({"replicas.store"}, "replicas.store = " + json_string(replicas.store) + " " + store.fault);
  if (!replicas.store_user.empty() && !store.url.is_etcd)
    origins.fail({"replicas.store_user", "replicas.store"},
                 "replicas.store_user needs replicas.store = \"etcd://...\": a file has no users");
  if (!replicas.store_ca.empty() && !store.url.has_tls)
    origins.fail({"replicas.store_ca", "replicas.store"},
                 "replicas.store_ca needs replicas.store = \"etcds://...\", with TLS");
}

void check_chunks(const ReplicasSection& replicas, const Origins& origins) {
  constexpr std::int64_t kLeastChunk_kib = 4;
  if (replicas.chunk_kib > 0 && replicas.chunk_kib < kLeastChunk_kib)
    origins.fail({"replicas.chunk_kib"}, "replicas.chunk_kib = " + std::to_string(replicas.chunk_kib) +
                                             " must be 0 or at least " + std::to_string(kLeastChunk_kib));
}

}  // namespace

// Names go to a shell that starts programs on the host: nothing of one may be taken for an option.
bool is_host_with_slots(const std::string& text) {
  const auto is_alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const std::string_view name = std::string_view(text).substr(0, colon);
  if (name.empty() || !is_alphanumeric(name.front())) return false;
  if (!std::all_of(name.begin(), name.end(), [&](char c) {
        return is_alphanumeric(c) || std::string_view("._-@").find(c) != std::string_view::npos;
      }))
    return false;
  return colon == text.size() || number_in(std::string_view(text).substr(colon + 1)).value_or(0) > 0;
}

void check_replicas(const Deck& deck, const Origins& origins) {
  check_batch_kind(deck, origins);
  check_times(deck.replicas, origins);
  check_places(deck.replicas, origins);
  check_spares(deck, origins);
  check_store(deck.replicas, origins);
  check_chunks(deck.replicas, origins);
}

}  // namespace tenax::io
