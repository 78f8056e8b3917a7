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
