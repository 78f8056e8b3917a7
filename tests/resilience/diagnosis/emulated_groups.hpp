// Emulated ranks that are threads, in rings, whose links can be delayed: for tests of what is slow.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/emulated/direct_endpoint.hpp"
#include "kernels/emulated_device.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::resilience {

inline constexpr double kPatience_s = 60;  ///< for what happens unless something is broken
inline constexpr double kLink_gbps = 0.8;
/// What a message of a healthy link takes, and of a slow one.
inline constexpr double kWay_s = 5e-3, kSlowWay_s = 60e-3;

/// The ring of `ranks` for the rank at `place` among them; the other ranks make theirs at the same time.
inline std::unique_ptr<comm::Communicator> make_ring(comm::LocalNetwork& network, const std::string& name,
                                                     const std::vector<int>& ranks, int place,
                                                     kernels::Device& device, double link_gbps) {
  std::vector<comm::Peer> peers;
  for (const int rank : ranks) peers.push_back(network.peers()[static_cast<std::size_t>(rank)]);
  auto& transport = network.transport(ranks[static_cast<std::size_t>(place)]);
  const auto make_links = [=, &transport, &device](const std::vector<int>& neighbours) {
    return comm::create_emulated_direct_endpoint(
        name, peers, place, neighbours, transport, device,
        {.depth = 1 << 16, .link_gbps = link_gbps, .deadline_s = kPatience_s});
  };
  return comm::create_emulated_ring_communicator(name, place, static_cast<int>(ranks.size()), make_links,
                                                 device, {.deadline_s = kPatience_s});
}

/// Messages between two ranks arrive so much later.
inline comm::OnSend delay_between(int a, int b, double seconds) {
  return [=](int from, int to, const std::string&, const comm::MessageHeader&) {
    if (std::minmax(from, to) == std::minmax(a, b)) kernels::sleep_until_s(kernels::steady_now_s() + seconds);
  };
}

/// Links are healthy, but for that between two ranks.
inline comm::OnSend slow_between(int a, int b) {
  return [=](int from, int to, const std::string&, const comm::MessageHeader&) {
    const bool is_slow = std::minmax(from, to) == std::minmax(a, b);
    kernels::sleep_until_s(kernels::steady_now_s() + (is_slow ? kSlowWay_s : kWay_s));
  };
}

}  // namespace tenax::resilience
