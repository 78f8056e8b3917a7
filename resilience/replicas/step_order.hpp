// StepOrder: what the leader of a replica tells its ranks to do next.
#pragma once

#include <string>

#include "resilience/membership/membership_member.hpp"

namespace tenax::resilience {

struct StepOrder {
  MemberPlan plan;
  Epoch epoch;  ///< of a step to train

  /// As one text, and back: between processes of one program. Without the epoch, that is empty.
  std::string text(bool with_epoch) const;
  static StepOrder parse(const std::string& text);
};

}  // namespace tenax::resilience
