// MitigationRecord: what is told of an action.
#pragma once

#include <cstdint>
#include <vector>

#include "resilience/diagnosis/component.hpp"
#include "resilience/mitigation/run_placement.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

/// An action, when what it achieved is known.
struct MitigationRecord {
  Strategy strategy = Strategy::microbatches;
  bool is_revert = false;
  bool made_worse = false;    ///< of a revert: because of that, and not because all healed
  bool is_disturbed = false;  ///< then: something else has become slow, of itself or by the action
  std::int64_t step = 0;      ///< the first under it
  std::vector<Component> components = {};
  RunPlacement placement = {};  ///< after it
  double lost_s = 0, expected_cost_s = 0, cost_s = 0;
  double measured_s = 0, predicted_s = 0, achieved_s = 0;  ///< of an iteration
  std::int64_t bytes = 0;                                  ///< that one rank moved, at most
  std::vector<int> ring_order = {};  ///< of a ring: data ranks of the one group that it tells of
  int generation = 0;                ///< of a swap: the grid's
};

/// Where a data group's link is in `placement`: whole tensor groups move.
DataGroup data_group_of(const Component& link, const RunPlacement& placement,
                        const parallel::GridShape& shape);

/// The groups whose rings differ.
std::vector<DataGroup> changed_rings(const RunPlacement& before, const RunPlacement& after);

/// The placement `now` without an action that was applied to `before`; a swap has changed all.
RunPlacement without(const MitigationRecord& action, const RunPlacement& before, RunPlacement now);

/// Whether something that such an action has changed is not the same in `now` and in `next`.
bool is_changed_again(const MitigationRecord& action, const RunPlacement& before, const RunPlacement& now,
                      const RunPlacement& next);

/// Of rings one for each that changed, with its links and its part of the cost; of all else the record itself.
std::vector<MitigationRecord> told_one_by_one(const MitigationRecord& record, const RunPlacement& before,
                                              const parallel::GridShape& shape);

}  // namespace tenax::resilience
