// InjectedWorld: the same ranks, through links that are as slow, or as dead, as LinkFaults say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "resilience/faults/injected_link.hpp"

namespace tenax::resilience {

/// An endpoint whose links to some peers are injected ones.
class InjectedEndpoint final : public comm::Endpoint {
 public:
  /// `world_ranks`: of the endpoint's ranks. `goes_down`: InjectedLink::Ends. `faults` must outlive
  /// it.
  InjectedEndpoint(std::unique_ptr<comm::Endpoint> inner, const std::vector<int>& world_ranks, bool goes_down,
                   LinkFaults& faults);

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  comm::Link& link(int peer) override;
  std::string describe(int peer) const override { return inner_->describe(peer); }

 private:
  const std::unique_ptr<comm::Endpoint> inner_;
  std::vector<std::unique_ptr<InjectedLink>> links_;  ///< per peer; null = as it is
};

/// Endpoints' links can be slow and down, collectives slow; the control plane is left alone. Where
/// no fault concerns a group, what the inner world makes is handed out as it is.
class InjectedWorld final : public comm::ForwardingWorld {
 public:
  /// `world` and `faults` must outlive it. `options`: those of `world`.
  InjectedWorld(comm::World& world, LinkFaults& faults, comm::CommOptions options)
      : ForwardingWorld(world, options), faults_(faults) {}

  std::unique_ptr<comm::Endpoint> split_endpoint(int color, int key) override;
  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device& device) override;

 private:
  LinkFaults& faults_;
};

}  // namespace tenax::resilience
