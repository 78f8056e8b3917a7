// MembershipExplorer: visits every state that a world can come to with a bounded number of faults.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/resilience/membership/membership_world.hpp"

namespace tenax::resilience {

class MembershipExplorer {
 public:
  /// Depth first, with at most `faults` of them. Ends at the first violation.
  void explore(const MembershipWorld& start, int faults);

  std::size_t states() const { return seen_.size(); }
  std::uint64_t transitions() const { return transitions_; }
  /// Of a state, or a state from which the run does not come to its end; empty if there is none.
  const std::string& violation() const { return violation_; }

 private:
  struct Frame {
    MembershipWorld world;
    std::vector<WorldAction> actions;
    std::size_t next = 0, harmless = 0;  // the actions from `harmless` on are faults
    int faults = 0;                      // that may still come
  };
  void visit(MembershipWorld world, int faults);
  void look_at(MembershipWorld world);
  std::string path() const;

  std::vector<Frame> frames_;
  std::unordered_map<std::uint64_t, int> seen_;  // explored with so many more faults
  std::unordered_set<std::uint64_t> ends_;       // from these the run comes to its end
  std::uint64_t transitions_ = 0;
  std::string violation_;
};

}  // namespace tenax::resilience
