#include "app/launch/host_list.hpp"

#include <algorithm>
#include <charconv>

#include "app/units.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

HostSlots parse_host(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  HostSlots host{text.substr(0, colon), 1};
  bool is_sound = !host.host.empty();
  if (colon != std::string::npos) {
    const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
    const auto read = std::from_chars(begin, end, host.slots);
    is_sound = is_sound && read.ec == std::errc{} && read.ptr == end && host.slots >= 1;
  }
  if (!is_sound)
    throw Error(Scope::usage, "replicas.hosts: \"" + text + "\" is neither \"NAME\" nor \"NAME:SLOTS\"");
  return host;
}

bool has_zones(const std::vector<HostSlots>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [](const HostSlots& host) { return !host.zone.empty(); });
}

int slots_of_zone(const std::vector<HostSlots>& hosts, const std::string& zone) {
  int slots = 0;
  for (const HostSlots& host : hosts)
    if (host.zone == zone) slots += host.slots;
  return slots;
}

/// The first `ranks` of that zone, which has so many; they are free no more.
std::vector<HostSlots> take_slots(std::vector<HostSlots>& free, const std::string& zone, int ranks) {
  std::vector<HostSlots> taken;
  int missing = ranks;
  for (HostSlots& host : free) {
    const int slots = host.zone == zone ? std::min(missing, host.slots) : 0;
    if (slots == 0) continue;
    taken.push_back({host.host, slots, zone, host.first});
    host.slots -= slots;
    host.first += slots;
    missing -= slots;
  }
  std::erase_if(free, [](const HostSlots& host) { return host.slots == 0; });
  return taken;
}

}  // namespace

std::vector<HostSlots> parse_hosts(const std::vector<std::string>& hosts,
                                   const std::vector<std::string>& zones) {
  std::vector<HostSlots> slots;
  for (const std::string& host : hosts) {
    slots.push_back(parse_host(host));
    if (!zones.empty()) slots.back().zone = zones.at(slots.size() - 1);
  }
  return slots;
}

std::vector<std::string> host_texts(const std::vector<HostSlots>& hosts) {
  std::vector<std::string> texts;
  for (const HostSlots& host : hosts) texts.push_back(host.host + ":" + std::to_string(host.slots));
  return texts;
}

std::vector<HostSlots> merge_hosts(const std::vector<HostSlots>& hosts) {
  std::vector<HostSlots> merged;
  for (const HostSlots& host : hosts) {
    const auto known = std::find_if(merged.begin(), merged.end(),
                                    [&](const HostSlots& other) { return other.host == host.host; });
    if (known == merged.end())
      merged.push_back(host);
    else
      known->slots += host.slots;
  }
  return merged;
}

HostShare share_hosts(const std::vector<HostSlots>& hosts, int replicas, int ranks) {
  HostShare share{.replicas = {}, .spares = hosts};
  for (int replica = 0; replica < replicas; ++replica) {
    const auto first = std::find_if(share.spares.begin(), share.spares.end(), [&](const HostSlots& host) {
      return slots_of_zone(share.spares, host.zone) >= ranks;
    });
    if (first == share.spares.end())
      throw Error(Scope::rank, format("replicas.hosts has too few slots%s: %d replicas of %d ranks need %d",
                                      has_zones(hosts) ? " in its zones, each replica in one" : "", replicas,
                                      ranks, replicas * ranks));
    share.replicas.push_back(take_slots(share.spares, std::string(first->zone), ranks));
  }
  return share;
}

}  // namespace tenax::app
