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

std::string obstacle_of(const std::vector<comm::VerbsPort>& ports) {
  std::string text;
  for (const comm::VerbsPort& port : ports)
    text += (text.empty() ? "" : ", ") + port.name + " " + port.obstacle;
  return text.empty() ? "it has no RDMA device" : text;
}

}  // namespace

RankPorts RankPorts::of(int rank, const std::string& host, const std::vector<comm::VerbsPort>* ports) {
  RankPorts own{.rank = rank, .host = host};
  if (!ports) {
    own.obstacle = comm::kNoVerbs;
    return own;
  }
  for (const comm::VerbsPort& port : *ports) {
    if (!port.obstacle.empty()) continue;
    if (own.usable.empty()) own.link = port.link_layer == "Ethernet" ? "RoCE v2" : port.link_layer;
    own.mtu_bytes = own.usable.empty() ? port.mtu_bytes : std::min(own.mtu_bytes, port.mtu_bytes);
    own.usable.push_back(port.name);
  }
  if (own.usable.empty()) own.obstacle = obstacle_of(*ports);
  return own;
}

// A line each: rank, host, link, MTU, obstacle; then the ports.
std::string RankPorts::text() const {
  std::ostringstream text;
  text << rank << '\n' << host << '\n' << link << '\n' << mtu_bytes << '\n' << obstacle << '\n';
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
  ports.link = next();
  ports.mtu_bytes = kernels::sent_number<int>(next(), "the MTU of its ports");
  ports.obstacle = next();
  for (std::string line; std::getline(lines, line);) ports.usable.push_back(line);
  return ports;
}

std::string RankPorts::name() const { return comm::describe_rank(rank, host); }

TransportText::TransportText(TransportKind kind, std::vector<RankPorts> ranks)
    : kind_(kind), ranks_(std::move(ranks)) {
  for (const RankPorts& rank : ranks_) {
    for (const std::string& port : rank.usable)
      if (std::find(ports_.begin(), ports_.end(), port) == ports_.end()) ports_.push_back(port);
    if (rank.usable.empty() && missing_.empty()) missing_ = rank.name() + ": " + rank.obstacle;
  }
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
    if (link.empty()) link = rank.link;
    mtu_bytes = mtu_bytes == 0 ? rank.mtu_bytes : std::min(mtu_bytes, rank.mtu_bytes);
  }
  return "verbs over " + joined(ports_) + format(" (%s, MTU %d)", link.c_str(), mtu_bytes);
}

// Of different hosts, one of which has no usable port.
std::string TransportText::pairs_text() const {
  int pairs = 0;
  const RankPorts *one = nullptr, *other = nullptr;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    for (std::size_t j = i + 1; j < ranks_.size(); ++j) {
      const bool has_verbs = !ranks_[i].usable.empty() && !ranks_[j].usable.empty();
      if (has_verbs || ranks_[i].host == ranks_[j].host) continue;
      if (pairs++ == 0) one = &ranks_[i], other = &ranks_[j];
    }
  if (pairs == 0) return {};
  const RankPorts& without = one->usable.empty() ? *one : *other;
  return format("; tcp between %d pair%s (", pairs, pairs == 1 ? "" : "s") + one->name() + " - " +
         other->name() + ": " + without.obstacle + ")";
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
