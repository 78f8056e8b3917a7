#include "app/launch/host_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace tenax::app {
namespace {

constexpr double kMemory_s = 3600;
constexpr int kMostDeaths = 1;  // of replicas on a host in that time

bool has_host(const std::vector<HostSlots>& hosts, const std::string& name) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const HostSlots& it) { return it.host == name; });
}

}  // namespace

HostPool::HostPool(const std::vector<HostSlots>& hosts, int replicas, int ranks)
    : ranks_(ranks), hosts_(merge_hosts(hosts)), places_(share_hosts(hosts_, replicas, ranks).replicas) {}

std::optional<HostPool::HostOut> HostPool::on_death(int replica, const std::string& host, double now_s,
                                                    bool is_corrupt) {
  if (is_empty()) return {};
  const std::string where = has_host(hosts_of(replica), host) ? host : hosts_of(replica).front().host;
  std::vector<double>& deaths = deaths_[where];
  std::erase_if(deaths, [&](double time_s) { return now_s - time_s > kMemory_s; });
  deaths.push_back(now_s);
  const bool is_out = !is_usable(where), is_often = static_cast<int>(deaths.size()) > kMostDeaths;
  const bool leaves = is_out || is_often || is_corrupt;
  if (!leaves || !move(replica, where) || is_out || !is_often) return {};
  set_aside_.push_back(where);
  return HostOut{.host = where, .failures = static_cast<int>(deaths.size())};
}

void HostPool::continue_on(int replica, const std::vector<HostSlots>& hosts) {
  std::vector<HostSlots> place;
  for (const HostSlots& host : hosts)
    for (const HostSlots& known : hosts_)
      if (known.host == host.host) place.push_back({host.host, host.slots, known.zone});
  if (is_empty() || place.size() != hosts.size() || place == hosts_of(replica)) return;
  places_.at(static_cast<std::size_t>(replica)).clear();
  for (HostSlots& host : place) host.first = first_free(host.host, host.slots);
  places_.at(static_cast<std::size_t>(replica)) = std::move(place);
  moved_.insert(replica);
}

void HostPool::continue_without(const std::string& host) {
  if (!has_host(hosts_, host) || !is_usable(host)) return;
  set_aside_.push_back(host);
  for (int replica = 0; replica < static_cast<int>(places_.size()); ++replica)
    if (has_host(hosts_of(replica), host)) move(replica, host);
}

const std::vector<HostSlots>* HostPool::place_spare(int spare) {
  spares_.erase(spare);
  for (const HostSlots& host : hosts_)
    if (auto place = find_place(host.zone)) return &(spares_[spare] = std::move(*place));
  return nullptr;
}

std::optional<int> HostPool::choose_spare(int replica, const std::set<int>& ready) const {
  const auto near = std::find_if(ready.begin(), ready.end(), [&](int spare) {
    return spares_.at(spare).front().zone == zone_of(replica);
  });
  if (near != ready.end()) return *near;
  return ready.empty() ? std::nullopt : std::optional(*ready.begin());
}

void HostPool::hand_over(int replica, int spare) {
  places_.at(static_cast<std::size_t>(replica)) = spares_.extract(spare).mapped();
  moved_.insert(replica);
}

int HostPool::most_replicas(const std::vector<HostSlots>& place) const {
  std::ptrdiff_t most = 0;
  for (const HostSlots& host : place)
    most = std::max(most, std::count_if(places_.begin(), places_.end(),
                                        [&](const auto& replica) { return has_host(replica, host.host); }));
  return static_cast<int>(most);
}

std::size_t HostPool::deaths_on(const std::string& host) const {
  const auto deaths = deaths_.find(host);
  return deaths == deaths_.end() ? 0 : deaths->second.size();
}

bool HostPool::is_usable(const std::string& host) const {
  return std::find(set_aside_.begin(), set_aside_.end(), host) == set_aside_.end();
}

// From the first slot on.
std::vector<HostSlots> HostPool::taken_on(const std::string& host) const {
  std::vector<HostSlots> all;
  const auto take = [&](const std::vector<HostSlots>& place) {
    std::copy_if(place.begin(), place.end(), std::back_inserter(all),
                 [&](const HostSlots& taken) { return taken.host == host; });
  };
  for (const auto& place : places_) take(place);
  for (const auto& [spare, place] : spares_) take(place);
  std::sort(all.begin(), all.end(), [](const HostSlots& a, const HostSlots& b) { return a.first < b.first; });
  return all;
}

int HostPool::free_slots(const HostSlots& host) const {
  int slots = host.slots;
  for (const HostSlots& taken : taken_on(host.host)) slots -= taken.slots;
  return slots;
}

// The first gap of so many; beyond all, and so beyond the host's, where what is free is scattered.
int HostPool::first_free(const std::string& host, int slots) const {
  int first = 0;
  for (const HostSlots& taken : taken_on(host))
    if (taken.first < first + slots) first = std::max(first, taken.first + taken.slots);
  return first;
}

// Its other hosts are as good as any: their slots are free for it. Its own zone comes first.
bool HostPool::move(int replica, const std::string& away_from) {
  std::vector<HostSlots>& place = places_[static_cast<std::size_t>(replica)];
  const std::vector<HostSlots> before = std::exchange(place, {});
  std::vector<std::string> zones = {before.front().zone};
  for (const HostSlots& host : hosts_) zones.push_back(host.zone);
  const bool was_usable = is_usable(away_from);
  if (was_usable) set_aside_.push_back(away_from);
  for (const std::string& zone : zones) {
    if (!place.empty()) break;
    place = find_place(zone).value_or(std::vector<HostSlots>{});
  }
  if (was_usable) set_aside_.pop_back();
  const bool has_moved = !place.empty();
  if (has_moved)
    moved_.insert(replica);
  else
    place = before;
  return has_moved;
}

std::optional<std::vector<HostSlots>> HostPool::find_place(const std::string& zone) const {
  std::vector<HostSlots> place, hosts = hosts_;
  std::stable_sort(hosts.begin(), hosts.end(), [&](const HostSlots& a, const HostSlots& b) {
    return deaths_on(a.host) < deaths_on(b.host);
  });
  int missing = ranks_;
  for (const HostSlots& host : hosts) {
    const int slots = std::min(missing, free_slots(host));
    if (host.zone != zone || slots <= 0 || !is_usable(host.host)) continue;
    place.push_back({host.host, slots, zone, first_free(host.host, slots)});
    missing -= slots;
  }
  if (missing > 0) return {};
  return place;
}

}  // namespace tenax::app
