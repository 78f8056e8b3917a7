#include "app/training/transport_text.hpp"

#include <algorithm>
#include <sstream>

#include "app/units.hpp"
#include "comm/failure.hpp"
#include "kernels/number_text.hpp"

namespace tenax::app {
namespace {

using comm::TransportKind;

const std::string kLabel = "comm     ";
constexpr char kWithin[] = "; shared memory within hosts";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string obstacle_of(const std::vector<comm::VerbsPort>& ports, std::optional<int> local_rank) {
  std::string text;
  for (const comm::VerbsPort& port : ports)
    text += (text.empty() ? "" : ", ") + port.name + " " + port.obstacle;
  if (!text.empty()) return text;
  return local_rank ? format("verbs.devices names none for rank %d of its host", *local_rank)
                    : "it has no RDMA device";
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Ports of different links have no way to each other.
bool have_way(const RankPorts& one, const RankPorts& other) {
  const auto is_link_of_other = [&](const std::string& link) {
    return std::find(other.links.begin(), other.links.end(), link) != other.links.end();
  };
  return std::any_of(one.links.begin(), one.links.end(), is_link_of_other);
}

}  // namespace

RankPorts RankPorts::of(int rank, const std::string& host, const std::vector<comm::VerbsPort>* ports,
                        std::optional<int> local_rank) {
  RankPorts own{.rank = rank, .host = host};
  if (!ports) {
    own.obstacle = comm::kNoVerbs;
    return own;
  }
  for (const comm::VerbsPort& port : *ports) {
    if (!port.obstacle.empty()) continue;
    add_once(own.links, port.link_layer == "Ethernet" ? "RoCE v2" : port.link_layer);
    own.mtu_bytes = own.usable.empty() ? port.mtu_bytes : std::min(own.mtu_bytes, port.mtu_bytes);
    own.usable.push_back(port.name);
  }
  if (own.usable.empty()) own.obstacle = obstacle_of(*ports, local_rank);
  return own;
}

// A line each: rank, host, MTU, obstacle, number of links, the links; then the ports.
std::string RankPorts::text() const {
  std::ostringstream text;
  text << rank << '\n' << host << '\n' << mtu_bytes << '\n' << obstacle << '\n' << links.size() << '\n';
  for (const std::string& link : links) text << link << '\n';
  for (const std::string& port : usable) text << port << '\n';
  return text.str();
}

RankPorts RankPorts::parse(const std::string& text) {
  std::istringstream lines(text);
  const auto next = [&] {
    std::string line;
    std::getline(lines, line);
    return line;
  };
  RankPorts ports;
  ports.rank = kernels::sent_number<int>(next(), "its rank");
  ports.host = next();
  ports.mtu_bytes = kernels::sent_number<int>(next(), "the MTU of its ports");
  ports.obstacle = next();
  const int links = kernels::sent_number<int>(next(), "how many links its ports have");
  for (int i = 0; i < links && lines; ++i) ports.links.push_back(next());
  for (std::string line; std::getline(lines, line);) ports.usable.push_back(line);
  return ports;
}

std::string RankPorts::name() const { return comm::describe_rank(rank, host); }

TransportText::TransportText(TransportKind kind, std::vector<RankPorts> ranks)
    : kind_(kind), ranks_(std::move(ranks)) {
  for (const RankPorts& rank : ranks_) {
    for (const std::string& port : rank.usable) add_once(ports_, port);
    if (rank.usable.empty() && missing_.empty()) missing_ = rank.name() + ": " + rank.obstacle;
  }
  if (!missing_.empty()) return;
  if (const PairsWithout pairs = pairs_without(); pairs.count > 0) missing_ = pairs.text();
}

bool TransportText::is_one_host() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const RankPorts& rank) { return rank.host == ranks_.front().host; });
}

std::string TransportText::ports_text() const {
  int mtu_bytes = 0;
  std::string link;
  for (const RankPorts& rank : ranks_) {
    if (rank.usable.empty()) continue;
    if (link.empty()) link = rank.links.front();
    mtu_bytes = mtu_bytes == 0 ? rank.mtu_bytes : std::min(mtu_bytes, rank.mtu_bytes);
  }
  return "verbs over " + joined(ports_) + format(" (%s, MTU %d)", link.c_str(), mtu_bytes);
}

// Of different hosts.
TransportText::PairsWithout TransportText::pairs_without() const {
  PairsWithout pairs;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    for (std::size_t j = i + 1; j < ranks_.size(); ++j) {
      if (ranks_[i].host == ranks_[j].host || have_way(ranks_[i], ranks_[j])) continue;
      if (pairs.count++ == 0) pairs.one = &ranks_[i], pairs.other = &ranks_[j];
    }
  return pairs;
}

std::string TransportText::PairsWithout::text() const {
  const std::string names = one->name() + " - " + other->name() + ": ";
  if (one->usable.empty()) return names + one->obstacle;
  if (other->usable.empty()) return names + other->obstacle;
  return names + "the one has " + joined(one->links) + ", the other " + joined(other->links);
}

std::string TransportText::pairs_text() const {
  const PairsWithout pairs = pairs_without();
  if (pairs.count == 0) return {};
  return format("; tcp between %d pair%s (", pairs.count, pairs.count == 1 ? "" : "s") + pairs.text() + ")";
}

std::string TransportText::line() const {
  switch (kind_) {
    case TransportKind::tcp:
      return kLabel + "tcp";
    case TransportKind::shared_memory:
      return kLabel + "shared memory";
    case TransportKind::verbs:
      return kLabel + ports_text();
    case TransportKind::automatic:
      break;
  }
  if (is_one_host()) return kLabel + "shared memory within hosts";
  if (ports_.empty()) return kLabel + "tcp (no verbs: " + missing_ + ")" + kWithin;
  return kLabel + ports_text() + pairs_text() + kWithin;
}

io::JsonObject TransportText::json() const {
  io::JsonObject json;
  const bool is_automatic = kind_ == TransportKind::automatic;
  const bool uses_verbs =
      kind_ == TransportKind::verbs || (is_automatic && !is_one_host() && !ports_.empty());
  const bool is_shared = kind_ == TransportKind::shared_memory || (is_automatic && is_one_host());
  json.add("kind", uses_verbs  ? "verbs"
                   : is_shared ? "shm"
                               : "tcp")
      .add("ports", uses_verbs ? ports_ : std::vector<std::string>{});
  if (is_automatic && !is_one_host() && !missing_.empty())
    json.add("reason", missing_);
  else
    json.add_json("reason", "null");
  return json;
}

}  // namespace tenax::app
