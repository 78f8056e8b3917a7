// EmulatedMove: the move of a state without data: it takes the time that its bytes take on the
// emulated device's links.
#pragma once

#include <memory>
#include <vector>

#include "comm/emulated/direct_endpoint.hpp"
#include "resilience/swap/state_move.hpp"

namespace tenax::resilience {

class EmulatedMove final : public StateMove {
 public:
  /// Begins: a rank that moves sends `bytes` and receives as many. `links`: those of the device. What
  /// `roads` names and `device` outlive it.
  EmulatedMove(const PlaceChange& change, std::uint64_t bytes, const comm::DirectOptions& links,
               kernels::Device& device, const MoveRoads& roads);

  bool goes_on(double seconds) override;
  std::uint64_t bytes() const override { return bytes_; }

 private:
  void start(comm::Link& source, comm::Link& destination);

  std::uint64_t bytes_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Endpoint> endpoint_;
  std::vector<comm::TransferPtr> transfers_;  // not done yet
};

}  // namespace tenax::resilience
