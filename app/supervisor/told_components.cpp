#include "app/supervisor/told_components.hpp"

#include <algorithm>
#include <vector>

#include "io/json_parse.hpp"

namespace tenax::app {

using nlohmann::json;

namespace {

/// What tells a component from others of its replica (contract: events). A link's ends come in any order.
std::string part_of(const json& component) {
  json ranks = component.value("ranks", json::array());
  std::sort(ranks.begin(), ranks.end());
  const json part = {component.value("kind", json()), component.value("rank", json()), ranks,
                     component.value("group", json())};
  return part.dump();
}

}  // namespace

void ToldComponents::take(const resilience::ReplicaObserved& observed) {
  const json details = io::parse_json(observed.observed.details).value;
  if (!details.is_object()) return;
  const int replica = observed.id.replica;
  if (observed.observed.event == "fail_slow")
    for (const json& component : details.value("components", json::array()))
      if (component.is_object()) parts_of_replica_[replica].insert(part_of(component));
  const auto told = parts_of_replica_.find(replica);
  if (observed.observed.event != "healed" || told == parts_of_replica_.end()) return;
  told->second.erase(part_of(details));
  if (told->second.empty()) parts_of_replica_.erase(told);
}

}  // namespace tenax::app
