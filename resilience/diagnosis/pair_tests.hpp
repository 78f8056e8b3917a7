// Tests of links between single pairs of ranks, which no message of training's may use.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "comm/control_group.hpp"
#include "parallel/replica/pair_link.hpp"
#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

/// All of it outlives the tests.
struct PairTestParts {
  comm::ControlGroup& control;  ///< all ranks of the replica, each by its world rank
  kernels::Device& device;
  /// Collective over the world: a link between this rank and the other one of the test, as training
  /// would make it; null: this rank is in none.
  std::function<parallel::PairLink(const PairTest* test)> join;
  std::function<double()> preempted_s = {};  ///< DeviceProbe::run
  double deadline_s = 60;                    ///< of each wait for a message
};

/// Collective, at the boundary of a step. The request of rank 0 counts. Each round makes its links
/// and tests them (LinkTests) for about its share of the request's seconds. Equal on all ranks;
/// without those whose link could not be made or failed, and those of a kind of which no other was
/// tested. Throws comm::AgreedError where it is not a link that failed.
std::vector<PairResult> test_pairs(const PairTestRequest& request, const PairTestParts& parts);

}  // namespace tenax::resilience
