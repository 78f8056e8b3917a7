// The hosts of a run, cut into replicas.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// So many ranks may run on a host.
struct HostSlots {
  std::string host;
  int slots = 1;
  std::string zone = {};  ///< replicas.zones; empty where there are none
  int first = 0;          ///< where several share the host: which of its slots is the first of these
  /// The same place, whichever slots they are.
  bool operator==(const HostSlots& other) const {
    return host == other.host && slots == other.slots && zone == other.zone;
  }
};

/// "NAME:SLOTS" of each.
std::vector<std::string> host_texts(const std::vector<HostSlots>& hosts);

struct HostShare {
  std::vector<std::vector<HostSlots>> replicas;  ///< by replica; its first host runs its mpirun
  std::vector<HostSlots> spares;                 ///< what is left over
};

/// "NAME" (one slot) or "NAME:SLOTS" each, as mpirun's --host has them. `zones`: of each, or none.
/// Throws Error(usage) for another text.
std::vector<HostSlots> parse_hosts(const std::vector<std::string>& hosts,
                                   const std::vector<std::string>& zones = {});
/// Each host once, where it comes first, with the slots of all that name it: as mpirun has a host that is named again.
std::vector<HostSlots> merge_hosts(const std::vector<HostSlots>& hosts);
/// `hosts`: each once. Hands the slots out in order, `ranks` to each replica, all of one zone: where a zone has too few
/// left, they stay spares. Throws Error(rank) if there are too few.
HostShare share_hosts(const std::vector<HostSlots>& hosts, int replicas, int ranks);

}  // namespace tenax::app
