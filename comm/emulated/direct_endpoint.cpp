#include "comm/emulated/direct_endpoint.hpp"

#include <algorithm>
#include <atomic>
#include <map>

#include "comm/emulated/direct_link.hpp"
#include "comm/emulated/send_queue.hpp"
#include "comm/emulated/shared_channel.hpp"
#include "comm/transport/connection_attempt.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

constexpr double kShareOfAddress = 1.0 / 8, kLeast_s = 0.2, kMost_s = 2;  // of the deadline

/// To the first of the peer's addresses that answers. One where nobody is must not use up the time of the others, nor a
/// busy machine lead to a slower way.
std::unique_ptr<Connection> connect(Transport& transport, const Peer& peer, const std::string& purpose,
                                    double deadline_s) {
  const std::atomic<bool> is_over{false};
  return ConnectionAttempt(transport, peer, purpose, is_over, Deadline::after_s(deadline_s),
                           {.first_s = std::clamp(kShareOfAddress * deadline_s, kLeast_s, kMost_s)})
      .connect();
}

class DirectEndpoint final : public Endpoint {
 public:
  DirectEndpoint(const std::string& name, std::vector<Peer> group, int rank, std::vector<int> neighbours,
                 Transport& transport, kernels::Device& device, DirectOptions options)
      : name_(name), group_(std::move(group)), rank_(rank), device_(device), options_(options) {
    if (options_.model == DirectModel::send_queue)
      queue_ = std::make_unique<SendQueue>(options_.depth, options_.deadline_s);
    // The lower end connects: first all that this rank makes, then those it waits for, so no two wait for
    // each other.
    std::sort(neighbours.begin(), neighbours.end(), std::greater<>());
    for (const int peer : neighbours) add_link(peer, transport);
  }
  // The outlets send what they still have before the links under them go.
  ~DirectEndpoint() override {
    queue_.reset();
    channels_.clear();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_.size()); }
  Link& link(int peer) override {
    const auto found = links_.find(peer);
    assert(found != links_.end() && "an emulated endpoint has links to its neighbours alone");
    return *found->second;
  }
  std::string describe(int peer) const override { return at(peer).name; }

 private:
  const Peer& at(int peer) const { return group_[static_cast<std::size_t>(peer)]; }

  std::unique_ptr<Connection> open(int peer, std::string_view kind, Transport& transport) {
    const std::string purpose = std::string(kind) + name_;
    if (rank_ < peer) return connect(transport, at(peer), purpose, options_.deadline_s);
    return transport.accept(at(peer), purpose, Deadline::after_s(options_.deadline_s));
  }

  void add_link(int peer, Transport& transport) {
    auto connection = open(peer, kDirectPurpose, transport);
    Outlet* outlet = queue_.get();
    if (options_.model == DirectModel::shared_channel) {
      const ChannelEnd end = rank_ < peer ? ChannelEnd::lower : ChannelEnd::upper;
      channels_.push_back(std::make_unique<SharedChannel>(
          end, options_.paired, open(peer, kChannelControlPurpose, transport), options_.deadline_s));
      outlet = channels_.back().get();
    }
    links_[peer] = std::make_unique<DirectLink>(
        std::move(connection), device_, signal_, *outlet,
        DirectLink::Settings{at(rank_).name, at(peer).name, options_.link_gbps, options_.deadline_s});
  }

  std::string name_;
  std::vector<Peer> group_;
  int rank_;
  kernels::Device& device_;
  DirectOptions options_;
  Signal signal_;
  std::unique_ptr<SendQueue> queue_;
  std::vector<std::unique_ptr<SharedChannel>> channels_;
  std::map<int, std::unique_ptr<DirectLink>> links_;
};

}  // namespace

std::unique_ptr<Endpoint> create_emulated_direct_endpoint(const std::string& name,
                                                          const std::vector<Peer>& group, int rank,
                                                          const std::vector<int>& neighbours,
                                                          Transport& transport, kernels::Device& device,
                                                          DirectOptions options) {
  return std::make_unique<DirectEndpoint>(name, group, rank, neighbours, transport, device, options);
}

}  // namespace tenax::comm
