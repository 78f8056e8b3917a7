#include "app/training/fail_slow_text.hpp"

#include <utility>

#include "app/units.hpp"

namespace tenax::app {

using io::JsonObject;
using parallel::GridCoordinates;
using resilience::Component;
using resilience::FailSlow;
using resilience::Healed;
using resilience::SlowCause;
using resilience::Throttling;

namespace {

std::vector<std::string> names_of(const kernels::ThrottleSet& set) {
  std::vector<std::string> names;
  for (const kernels::Throttle reason : kernels::kThrottles)
    if (set.has(reason)) names.emplace_back(kernels::name_of(reason));
  return names;
}

void add_throttling(JsonObject& object, const Throttling& throttling) {
  object.add("reason", "throttling");
  if (throttling.clock_mhz > 0) object.add("clock_mhz", throttling.clock_mhz);
  if (throttling.healthy_clock_mhz > 0) object.add("healthy_clock_mhz", throttling.healthy_clock_mhz);
  if (throttling.temperature_c > 0) object.add("temperature_c", throttling.temperature_c);
  object.add("throttled_by", names_of(throttling.by));
}

/// ", throttled: 1200 MHz, healthy 1755 MHz, 87 °C, hardware_thermal".
std::string throttling_text(const Throttling& throttling) {
  std::string text = ", throttled", separator = ": ";
  const auto add = [&](const std::string& what) { text += std::exchange(separator, ", ") + what; };
  if (throttling.clock_mhz > 0) add(format("%.0f MHz", throttling.clock_mhz));
  if (throttling.healthy_clock_mhz > 0) add(format("healthy %.0f MHz", throttling.healthy_clock_mhz));
  if (throttling.temperature_c > 0) add(format("%.0f °C", throttling.temperature_c));
  for (const std::string& name : names_of(throttling.by)) add(name);
  return text;
}

}  // namespace

// A link along an axis of the grid has no coordinate on it.
JsonObject FailSlowText::details(const Component& component, const parallel::ProcessGrid& grid) const {
  JsonObject object;
  const GridCoordinates at = grid.coordinates_of(component.rank);
  if (component.is_link()) {
    object.add("kind", "link")
        .add("ranks", std::vector<std::int64_t>{component.rank, component.other})
        .add("hosts", std::vector<std::string>{place(component.rank).host, place(component.other).host})
        .add("group", parallel::name_of(component.group));
    if (component.group != parallel::GroupKind::pipeline) object.add("stage", at.pipeline);
    if (component.group != parallel::GroupKind::data) object.add("data", at.data);
  } else {
    object.add("kind", "rank")
        .add("rank", component.rank)
        .add("host", place(component.rank).host)
        .add("device", place(component.rank).device)
        .add("stage", at.pipeline)
        .add("data", at.data);
  }
  object.add("factor", component.factor).add("cause", resilience::name_of(component.cause));
  if (component.throttling) add_throttling(object, *component.throttling);
  return object;
}

JsonObject FailSlowText::details(const FailSlow& found) const {
  std::vector<JsonObject> components;
  for (const Component& component : found.components) components.push_back(details(component));
  return JsonObject{}
      .add("cause", resilience::name_of(found.cause))
      .add("components", components)
      .add("known_by", found.by_validation ? "validation" : "profile")
      .add("reaction_seconds", found.reaction_s);
}

JsonObject FailSlowText::details(const Healed& healed) const {
  Component component = healed.component;
  component.throttling.reset();  // that was then
  return details(component).add("slow_steps", healed.slow_steps);
}

std::vector<std::string> FailSlowText::hosts() const {
  std::vector<std::string> hosts;
  for (const RankPlace& place : places_) hosts.push_back(place.host);
  return hosts;
}

std::string FailSlowText::name_of(const Component& component) const {
  const std::string host = place(component.rank).host;
  if (!component.is_link()) return format("rank %d (%s)", component.rank, host.c_str());
  return format("the %s link between rank %d (%s) and rank %d (%s)", parallel::name_of(component.group),
                component.rank, host.c_str(), component.other, place(component.other).host.c_str());
}

std::string FailSlowText::line(std::int64_t step, const FailSlow& found) const {
  std::string text = format("step %lld: ", static_cast<long long>(step));
  if (found.cause == SlowCause::common) return text + "all ranks have become slower alike";
  if (found.components.empty()) return text + "nothing is found that is slow, or it has healed";
  std::string separator;
  for (const Component& component : found.components) {
    text +=
        separator + name_of(component) +
        format(" is slow: %.3g times as long (%s", component.factor, resilience::name_of(component.cause)) +
        (component.throttling ? throttling_text(*component.throttling) : "") + ")";
    separator = "; ";
  }
  return text;
}

std::string FailSlowText::line(std::int64_t step, const Healed& healed) const {
  return format("step %lld: ", static_cast<long long>(step)) + name_of(healed.component) +
         format(" has healed after %lld steps", static_cast<long long>(healed.slow_steps));
}

}  // namespace tenax::app
