#include "app/simulation/simulated_places.hpp"

#include <algorithm>
#include <utility>

namespace tenax::app {

SimulatedPlaces::SimulatedPlaces(const Options& options, RandomTimes& random, SimulatedQueue& queue)
    : options_(options),
      random_(random),
      queue_(queue),
      states_(static_cast<std::size_t>(options.replicas + options.spares)),
      policies_(static_cast<std::size_t>(options.replicas), RestartPolicy(options.restart)),
      not_before_s_(policies_.size(), 0),
      starts_(policies_.size(), 0) {
  for (int replica = 0; replica < options.replicas; ++replica) {
    place_of_replica_.push_back(-1);
    put(replica, replica, 0);
  }
}

std::optional<int> SimulatedPlaces::on_failure(int place, double now_s) {
  State& state = at(place);
  if (state.is_broken) {
    ++state.waiting_failures;
    return {};
  }
  repair(place, now_s);
  return state.replica < 0 ? std::nullopt : std::optional(state.replica);
}

void SimulatedPlaces::repair(int place, double now_s) {
  at(place).is_broken = true;
  const double seconds = options_.is_regular ? options_.repair_s : random_.exponential(options_.repair_s);
  queue_.plan({.time_s = now_s + seconds, .kind = SimulatedEvent::repaired, .subject = place});
}

void SimulatedPlaces::on_repaired(int place, double now_s) {
  State& state = at(place);
  if (state.waiting_failures > 0) {
    --state.waiting_failures;
    return repair(place, now_s);
  }
  state.is_broken = false;
  if (waiting_.empty() || state.replica >= 0) return;
  const int replica = waiting_.front();
  waiting_.pop_front();
  put(replica, place, now_s + options_.restart_s);
}

bool SimulatedPlaces::on_lost(int replica, double now_s) {
  const auto index = static_cast<std::size_t>(replica);
  const auto delay_s = policies_[index].on_death();
  const int place = std::exchange(place_of_replica_[index], -1);
  at(place).replica = -1;
  ++starts_[index];
  if (!delay_s) return false;
  not_before_s_[index] = now_s + *delay_s;
  if (at(place).is_broken)
    seek_place(replica, now_s);
  else
    put(replica, place, now_s + options_.restart_s);
  return true;
}

void SimulatedPlaces::seek_place(int replica, double now_s) {
  if (const int spare = free_place(); spare >= 0)
    put(replica, spare, now_s + options_.takeover_s);
  else
    waiting_.push_back(replica);
}

int SimulatedPlaces::free_place() const {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [](const State& state) { return state.replica < 0 && !state.is_broken; });
  return found == states_.end() ? -1 : static_cast<int>(found - states_.begin());
}

void SimulatedPlaces::put(int replica, int place, double ready_s) {
  const auto index = static_cast<std::size_t>(replica);
  at(place).replica = replica;
  place_of_replica_[index] = place;
  policies_[index].on_start();
  queue_.plan({.time_s = std::max(ready_s, not_before_s_[index]),
               .kind = SimulatedEvent::start,
               .subject = replica,
               .token = ++starts_[index]});
}

}  // namespace tenax::app
