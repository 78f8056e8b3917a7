#include "resilience/faults/peer_faults.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace tenax::resilience {

PeerFaults::PeerFaults(int replica, const std::vector<Partition>& partitions, std::vector<LinkFault> delays)
    : replica_(replica), delays_(std::move(delays)) {
  for (const Partition& partition : partitions) darknesses_.emplace_back(partition);
}

void PeerFaults::begin_step(std::int64_t step) {
  delays_.begin_step(step);
  for (Darkness& darkness : darknesses_) {
    const auto now = Clock::now();
    if (now.time_since_epoch().count() < darkness.until || !darkness.partition.occasion.comes(step, run_s()))
      continue;
    const std::chrono::duration<double> length(darkness.partition.seconds);
    darkness.until = (now + std::chrono::duration_cast<Clock::duration>(length)).time_since_epoch().count();
  }
}

bool PeerFaults::concern(int peer) const {
  return delays_.concern(replica_, peer) ||
         std::any_of(darknesses_.begin(), darknesses_.end(),
                     [&](const Darkness& darkness) { return darkness.partition.peer == peer; });
}

PeerFaults::Clock::time_point PeerFaults::light_at(int peer) const {
  Clock::rep last = 0;
  for (const Darkness& darkness : darknesses_)
    if (darkness.partition.peer == peer) last = std::max(last, darkness.until.load());
  return Clock::time_point(Clock::duration(last));
}

bool PeerFaults::waits_for_light(int peer, kernels::Deadline deadline) const {
  const auto light = light_at(peer);
  std::this_thread::sleep_until(std::min(light, deadline.when()));
  return Clock::now() >= light;
}

PeerFaults::Clock::duration PeerFaults::delay(int peer, std::uint64_t bytes) const {
  return delays_.delay(replica_, peer, bytes, Clock::now());
}

}  // namespace tenax::resilience
