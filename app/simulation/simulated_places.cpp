#include "app/simulation/simulated_places.hpp"

#include <algorithm>

namespace tenax::app {
namespace {

std::vector<HostSlots> hosts_of(const SimulatedPlaces::Options& options) {
  const auto count = static_cast<std::size_t>(options.replicas + options.spares);
  std::vector<HostSlots> hosts;
  for (std::size_t place = 0; place < count; ++place) {
    hosts.push_back({.host = std::to_string(place), .slots = 1});
    if (!options.zones.empty()) hosts.back().zone = options.zones[place * options.zones.size() / count];
  }
  return hosts;
}

}  // namespace

SimulatedPlaces::SimulatedPlaces(const Options& options, RandomTimes& random, SimulatedQueue& queue)
    : options_(options),
      random_(random),
      queue_(queue),
      hosts_(app::hosts_of(options), options.replicas, 1),
      states_(static_cast<std::size_t>(options.replicas + options.spares)),
      place_of_spare_(static_cast<std::size_t>(options.spares)),
      policies_(static_cast<std::size_t>(options.replicas), RestartPolicy(options.restart)),
      not_before_s_(policies_.size(), 0),
      starts_(policies_.size(), 0) {
  for (int replica = 0; replica < options.replicas; ++replica) start(replica, 0);
  for (int spare = 0; spare < options.spares; ++spare) put_spare(spare);
}

std::optional<int> SimulatedPlaces::on_failure(int place, double now_s) {
  State& state = at(place);
  if (state.is_broken) {
    ++state.waiting_failures;
    return {};
  }
  repair(place, now_s);
  for (int replica = 0; replica < options_.replicas; ++replica)
    if (place_of(replica) == place && !given_up_.contains(replica)) return replica;
  return {};
}

void SimulatedPlaces::repair(int place, double now_s) {
  at(place).is_broken = true;
  const double seconds = options_.is_regular ? options_.repair_s : random_.exponential(options_.repair_s);
  queue_.plan({.time_s = now_s + seconds, .kind = SimulatedEvent::repaired, .subject = place});
}

// What is lost waits for its own place, or for a spare that starts on another.
void SimulatedPlaces::on_repaired(int place, double now_s) {
  State& state = at(place);
  if (state.waiting_failures > 0) {
    --state.waiting_failures;
    return repair(place, now_s);
  }
  state.is_broken = false;
  state.ready_s = now_s + options_.restart_s;
  const auto own =
      std::find_if(waiting_.begin(), waiting_.end(), [&](int replica) { return place_of(replica) == place; });
  if (own != waiting_.end()) {
    start(*own, state.ready_s);
    waiting_.erase(own);
  } else if (!waiting_.empty() && call_spare(waiting_.front(), now_s)) {
    waiting_.pop_front();
  }
}

bool SimulatedPlaces::on_lost(int replica, double now_s) {
  const auto index = static_cast<std::size_t>(replica);
  const auto delay_s = policies_[index].on_death();
  ++starts_[index];
  std::erase(waiting_, replica);
  hosts_.on_death(replica, hosts_.hosts_of(replica).front().host, now_s);
  if (!delay_s) {
    given_up_.insert(replica);
    return false;
  }
  not_before_s_[index] = now_s + *delay_s;
  if (call_spare(replica, now_s)) return true;
  if (at(place_of(replica)).is_broken)
    waiting_.push_back(replica);
  else
    start(replica, now_s + options_.restart_s);
  return true;
}

void SimulatedPlaces::put_spare(int spare) {
  place_of_spare_[static_cast<std::size_t>(spare)] = number_of(*hosts_.place_spare(spare));
}

std::set<int> SimulatedPlaces::ready_spares() const {
  std::set<int> ready;
  for (int spare = 0; spare < options_.spares; ++spare)
    if (!states_[static_cast<std::size_t>(place_of_spare_[static_cast<std::size_t>(spare)])].is_broken)
      ready.insert(spare);
  return ready;
}

bool SimulatedPlaces::call_spare(int replica, double now_s) {
  const auto spare = hosts_.choose_spare(replica, ready_spares());
  if (!spare) return false;
  hosts_.hand_over(replica, *spare);
  start(replica, std::max(now_s, at(place_of(replica)).ready_s) + options_.takeover_s);
  put_spare(*spare);
  return true;
}

void SimulatedPlaces::start(int replica, double ready_s) {
  const auto index = static_cast<std::size_t>(replica);
  policies_[index].on_start();
  queue_.plan({.time_s = std::max(ready_s, not_before_s_[index]),
               .kind = SimulatedEvent::start,
               .subject = replica,
               .token = ++starts_[index]});
}

}  // namespace tenax::app
