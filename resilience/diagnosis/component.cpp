#include "resilience/diagnosis/component.hpp"

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

}  // namespace tenax::resilience
