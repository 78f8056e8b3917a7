// AdaptationDecision: the controller's answer at an iteration boundary. One rank decides and tells
// the others of the pipeline.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::resilience {

enum class AdaptationKind { straggler, reschedule, delegate, direct };
/// "straggler", "reschedule", "delegate", "direct": the names of the events.
const char* name_of(AdaptationKind kind);

struct AdaptationEvent {
  AdaptationKind kind = AdaptationKind::straggler;
  std::int64_t step = 0;  ///< after which it was decided
  int link = -1;          ///< between stages link and link + 1; −1: not about one link
  int stage = -1;         ///< the slow stage; −1: not about one stage
  /// The measured delay of the link, or of the slowest link of a reschedule. For a slow stage: by
  /// how much an F, B and W together grew.
  double delay_s = 0;
  double before_s = 0;     ///< the iteration time measured last
  double predicted_s = 0;  ///< the iteration time that the evaluator expects from now on
  std::optional<double> achieved_s = std::nullopt;  ///< the first one under the decision, once known
  /// Where a direct path broke in mid-iteration: how many of the iteration's messages still came
  /// over it, and how many over delegates. Else both 0.
  int direct_messages = 0, delegated_messages = 0;
  /// A link that changed paths too often returns to its direct path only after so many healthy
  /// steps. 0 for others.
  int hold_steps = 0;
  int data = -1;  ///< the pipeline, where there are several; set by who gathers events, not told as text

  bool operator==(const AdaptationEvent&) const = default;
};

/// How a link carries its messages from the next iteration on.
struct LinkPath {
  bool delegated = false;
  int delegates = 1;  ///< per direction, where delegated

  bool operator==(const LinkPath&) const = default;
};

struct AdaptationDecision {
  std::optional<parallel::PipelineSchedule> schedule;  ///< absent: the running one stays
  parallel::PipelineCosts costs;                       ///< by which inputs are late; empty: as before
  std::vector<LinkPath> links;                         ///< all of them, changed or not
  double predicted_s = 0;                              ///< iteration time; 0 = nothing was predicted yet
  std::vector<AdaptationEvent> events;                 ///< decided now
  std::vector<AdaptationEvent> achieved;               ///< decided earlier, their achieved_s now known

  bool operator==(const AdaptationDecision&) const = default;
};

/// Text for a broadcast; reads back equal, bit for bit.
std::string to_text(const AdaptationDecision& decision);
/// Throws Error(replica) when `text` is no decision.
AdaptationDecision decision_of_text(const std::string& text);

}  // namespace tenax::resilience
