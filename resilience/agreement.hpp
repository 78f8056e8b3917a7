// Agreement: ranks do a piece of work each and all learn what came of it on every one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/control_group.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

/// A failure that every rank of the group has been told of, so that all throw it: the group is in step.
class AgreedError : public kernels::Error {
 public:
  using Error::Error;
};

/// Collective. Runs `work` on every rank and returns what it returned on each, in rank order. If it threw on
/// any, every rank throws the AgreedError of the lowest such rank. Errors of the group itself pass through.
std::vector<std::string> agreed_answers(comm::ControlGroup& group, const std::function<std::string()>& work);

/// As above for work without a result.
void agree(comm::ControlGroup& group, const std::function<void()>& work);

/// Collective. Calls `work` on every rank until it has returned false on all; it does a few seconds' work at
/// a time, so that no rank waits for another longer than the group's deadline allows.
void agree_in_rounds(comm::ControlGroup& group, const std::function<bool()>& work);

}  // namespace tenax::resilience
