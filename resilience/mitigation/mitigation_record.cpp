#include "resilience/mitigation/mitigation_record.hpp"

#include <algorithm>
#include <set>

namespace tenax::resilience {

DataGroup data_group_of(const Component& link, const RunPlacement& placement,
                        const parallel::GridShape& shape) {
  const auto& groups = placement.group_of_place;
  const auto place = std::find(groups.begin(), groups.end(), link.rank / shape.tensor);
  return {.tensor = link.rank % shape.tensor, .stage = static_cast<int>(place - groups.begin()) / shape.data};
}

std::vector<DataGroup> changed_rings(const RunPlacement& before, const RunPlacement& after) {
  std::set<DataGroup> changed;
  for (const RunPlacement* placement : {&before, &after})
    for (const auto& [group, order] : placement->ring_order)
      if (ring_of(before, group) != ring_of(after, group)) changed.insert(group);
  return {changed.begin(), changed.end()};
}

RunPlacement without(const MitigationRecord& action, const RunPlacement& before, RunPlacement now) {
  if (action.strategy == Strategy::swap) return before;
  if (action.strategy == Strategy::microbatches) now.microbatches = before.microbatches;
  if (action.strategy != Strategy::ring) return now;
  for (const DataGroup& ring : changed_rings(before, action.placement)) {
    now.ring_order.erase(ring);
    if (const auto own = before.ring_order.find(ring); own != before.ring_order.end())
      now.ring_order.insert(*own);
  }
  return now;
}

bool is_changed_again(const MitigationRecord& action, const RunPlacement& before, const RunPlacement& now,
                      const RunPlacement& next) {
  if (action.strategy == Strategy::microbatches) return now.microbatches != next.microbatches;
  if (action.strategy != Strategy::ring) return now.group_of_place != next.group_of_place;
  return std::ranges::any_of(changed_rings(before, action.placement), [&](const DataGroup& ring) {
    return ring_of(now, ring) != ring_of(next, ring);
  });
}

std::vector<MitigationRecord> told_one_by_one(const MitigationRecord& record, const RunPlacement& before,
                                              const parallel::GridShape& shape) {
  if (record.strategy != Strategy::ring) return {record};
  std::vector<MitigationRecord> records;
  const std::vector<DataGroup> rings = changed_rings(before, record.placement);
  for (const DataGroup& ring : rings) {
    MitigationRecord& one = records.emplace_back(record);
    one.ring_order = ring_of(record.placement, ring);
    one.cost_s = record.cost_s / static_cast<double>(rings.size());
    std::erase_if(one.components, [&](const Component& link) {
      return data_group_of(link, record.placement, shape) != ring;
    });
  }
  return records;
}

}  // namespace tenax::resilience
