#include "resilience/faults/injected_world.hpp"

#include <algorithm>
#include <limits>

#include "comm/text_exchange.hpp"
#include "kernels/number_text.hpp"

namespace tenax::resilience {
namespace {

/// World ranks of an endpoint's ranks.
std::vector<int> members_of(comm::Endpoint& endpoint, int world_rank, double deadline_s) {
  std::vector<int> members;
  for (const std::string& text : comm::exchange_texts(endpoint, std::to_string(world_rank),
                                                      "fault injection's exchange of ranks", deadline_s))
    members.push_back(kernels::sent_number<int>(text, "its rank"));
  return members;
}

/// Whether `is_bad` holds for some pair, so that all ranks of a group come to the same answer.
template <class IsBad>
bool any_pair(const std::vector<int>& ranks, IsBad is_bad) {
  return std::any_of(ranks.begin(), ranks.end(), [&](int a) {
    return std::any_of(ranks.begin(), ranks.end(), [&](int b) { return a < b && is_bad(a, b); });
  });
}

}  // namespace

InjectedEndpoint::InjectedEndpoint(std::unique_ptr<comm::Endpoint> inner, const std::vector<int>& world_ranks,
                                   bool goes_down, LinkFaults& faults)
    : inner_(std::move(inner)), links_(world_ranks.size()) {
  const int me = world_ranks[static_cast<std::size_t>(inner_->rank())];
  for (int peer = 0; peer < inner_->size(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    const bool is_bad =
        goes_down ? faults.concern(me, world_ranks[p]) : faults.delay_some(me, world_ranks[p]);
    if (peer == inner_->rank() || !is_bad) continue;
    const InjectedLink::Ends ends{.rank = me, .peer = world_ranks[p], .goes_down = goes_down};
    links_[p] = std::make_unique<InjectedLink>(inner_->link(peer), ends, faults);
  }
}

comm::Link& InjectedEndpoint::link(int peer) {
  const auto& injected = links_[static_cast<std::size_t>(peer)];
  return injected ? *injected : inner_->link(peer);
}

std::unique_ptr<comm::Endpoint> InjectedWorld::split_endpoint(int color, int key) {
  auto endpoint = inner_.split_endpoint(color, key);
  const std::vector<int> members = members_of(*endpoint, rank(), options_.deadline_s);
  if (!any_pair(members, [this](int a, int b) { return faults_.concern(a, b); })) return endpoint;
  return std::make_unique<InjectedEndpoint>(std::move(endpoint), members, true, faults_);
}

// Splits are collective over the world. The ranks of a delayed group take part in the second one each by
// itself; what they get is dropped.
std::unique_ptr<comm::Communicator> InjectedWorld::split_communicator(const std::string& name, int color,
                                                                      int key, kernels::Device& device) {
  auto endpoint = inner_.split_endpoint(color, key);
  const std::vector<int> members = members_of(*endpoint, rank(), options_.deadline_s);
  const bool is_delayed =
      device.is_host_memory() && any_pair(members, [this](int a, int b) { return faults_.delay_some(a, b); });
  const int alone = std::numeric_limits<int>::max() - rank();
  auto healthy = inner_.split_communicator(name, is_delayed ? alone : color, key, device);
  if (!is_delayed) return healthy;
  auto injected = std::make_unique<InjectedEndpoint>(std::move(endpoint), members, false, faults_);
  return comm::create_link_communicator(name, std::move(injected), device, options_);
}

}  // namespace tenax::resilience
