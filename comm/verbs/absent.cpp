#include "comm/verbs.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

bool has_verbs() { return false; }

std::vector<VerbsPort> verbs_ports(const VerbsPortOptions&) { return {}; }

std::unique_ptr<VerbsRank> create_verbs_rank(const VerbsSettings&) {
  throw kernels::Error(kernels::Scope::rank, kNoVerbs);
}

}  // namespace tenax::comm
