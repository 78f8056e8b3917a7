// Agreement: ranks do a piece of work each and all learn what came of it on every one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/control_group.hpp"

namespace tenax::resilience {

/// Collective, as ControlGroup::agree, for work with a result: returns what it returned on each rank, in rank
/// order. If it threw on any, every rank throws the comm::AgreedError of the lowest such rank.
std::vector<std::string> agreed_answers(comm::ControlGroup& group, const std::function<std::string()>& work);

/// Collective. Calls `work` on every rank until it has returned false on all; it does a few seconds' work at
/// a time, so that no rank waits for another longer than the group's deadline allows.
void agree_in_rounds(comm::ControlGroup& group, const std::function<bool()>& work);

}  // namespace tenax::resilience
