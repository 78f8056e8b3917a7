#include "app/training/mitigation_text.hpp"

#include <cstdint>
#include <vector>

#include "app/units.hpp"
#include "resilience/mitigation/topology_swap.hpp"

namespace tenax::app {

using io::JsonObject;
using resilience::MitigationRecord;
using resilience::Strategy;

namespace {

std::vector<std::int64_t> numbers(const std::vector<int>& values) { return {values.begin(), values.end()}; }

void add_placement(JsonObject& object, const MitigationRecord& record, const parallel::GridShape& shape) {
  switch (record.strategy) {
    case Strategy::microbatches:
      object.add("microbatches", numbers(record.placement.microbatches));
      return;
    case Strategy::ring:
      object.add("order", numbers(record.ring_order));
      return;
    case Strategy::swap:
      object
          .add("rank_of_position",
               numbers(resilience::rank_of_position(record.placement.group_of_place, shape.tensor)))
          .add("generation", record.generation)
          .add("bytes", record.bytes);
      return;
    case Strategy::restart:
      return;
  }
}

std::string names(const std::vector<resilience::Component>& components, const FailSlowText& text) {
  std::string names, separator;
  for (const resilience::Component& component : components) {
    names += separator + text.name_of(component);
    separator = ", ";
  }
  return names;
}

}  // namespace

JsonObject mitigation_details(const MitigationRecord& record, const FailSlowText& components,
                              const parallel::ProcessGrid& before) {
  std::vector<JsonObject> objects;
  for (const resilience::Component& component : record.components)
    objects.push_back(components.details(component, before));
  JsonObject object;
  object.add("strategy", resilience::name_of(record.strategy));
  if (record.is_revert) object.add("reason", record.made_worse ? "worse" : "healed");
  object.add("components", objects)
      .add("lost_seconds", record.lost_s)
      .add("expected_cost_seconds", record.expected_cost_s)
      .add("cost_seconds", record.cost_s)
      .add("measured_iteration_ms", record.measured_s * kMsPerSecond)
      .add("predicted_iteration_ms", record.predicted_s * kMsPerSecond)
      .add("achieved_iteration_ms", record.achieved_s * kMsPerSecond);
  add_placement(object, record, before.shape());
  return object;
}

std::string mitigation_line(const MitigationRecord& record, const FailSlowText& components) {
  const std::string about = names(record.components, components);
  const char* const what = record.made_worse  ? "undone, as it made matters worse"
                           : record.is_revert ? "taken back"
                                              : "applied";
  return format("step %lld: %s %s (%s): %.4g ms an iteration, %.4g ms before, %.4g ms predicted",
                static_cast<long long>(record.step), resilience::name_of(record.strategy), what,
                about.c_str(), record.achieved_s * kMsPerSecond, record.measured_s * kMsPerSecond,
                record.predicted_s * kMsPerSecond);
}

}  // namespace tenax::app
