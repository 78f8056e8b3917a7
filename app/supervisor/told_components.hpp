// ToldComponents: what replicas have told of themselves to be slow, and not yet to have healed.
#pragma once

#include <map>
#include <set>
#include <string>

#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// A component that is told again, as it has become slower, is still one. Pure. One thread.
class ToldComponents {
 public:
  /// `fail_slow` and `healed` count, other events do not.
  void take(const resilience::ReplicaObserved& observed);
  /// Whether some component of the replica is slow.
  bool contains(int replica) const { return parts_of_replica_.contains(replica); }
  /// The replica has gone, or started again.
  void forget(int replica) { parts_of_replica_.erase(replica); }

 private:
  std::map<int, std::set<std::string>> parts_of_replica_;  // none of which is empty; a part is text
};

}  // namespace tenax::app
