#include "resilience/diagnosis/component.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::resilience {

const char* name_of(SlowCause cause) {
  switch (cause) {
    case SlowCause::none:
      return "none";
    case SlowCause::compute:
      return "compute";
    case SlowCause::cpu_contention:
      return "cpu_contention";
    case SlowCause::link:
      return "link";
    case SlowCause::several:
      return "several";
    case SlowCause::common:
      return "common";
  }
  assert(false && "no cause");
  return "";
}

SlowCause cause_of(const std::vector<Component>& components) {
  if (components.empty()) return SlowCause::none;
  for (const Component& component : components)
    if (component.cause != components.front().cause) return SlowCause::several;
  return components.front().cause;
}

std::size_t Suspects::count() const {
  std::size_t links = 0;  // of n ranks in a ring, n
  for (const SuspectGroup& group : groups) links += group.ranks.size();
  return components.size() + links;
}

std::vector<Component> links_round(const SuspectGroup& group) {
  std::vector<Component> links;
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    const int one = group.ranks[i], next = group.ranks[(i + 1) % group.ranks.size()];
    links.push_back({.kind = Component::Kind::link,
                     .rank = std::min(one, next),
                     .other = std::max(one, next),
                     .group = group.kind,
                     .cause = SlowCause::link,
                     .factor = group.factor});
  }
  return links;
}

}  // namespace tenax::resilience
