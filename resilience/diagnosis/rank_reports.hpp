// gather_reports(): the reports of all ranks.
#pragma once

#include <vector>

#include "comm/control_group.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// Collective: by rank, on every rank. Each gives only its own: some hundred bytes, however many ranks
/// there are. Throws Error(replica) where a rank has sent something else.
std::vector<RankReport> gather_reports(comm::ControlGroup& group, const RankReport& mine);

}  // namespace tenax::resilience
