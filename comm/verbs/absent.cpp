#include "comm/verbs.hpp"

namespace tenax::comm {

bool has_verbs() { return false; }

std::vector<VerbsPort> verbs_ports(const VerbsPortOptions&) { return {}; }

}  // namespace tenax::comm
