// StageSummary: what one rank tells the others of its pipeline about an iteration, and how all ranks make the
// same PipelineMeasurement of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "resilience/adaptation/link_samples.hpp"

namespace tenax::resilience {

/// Plain data: it travels as its bytes.
struct StageSummary {
  int stage = 0;
  int lane = 0;  ///< tensor rank: each has its own chain of links
  StageMeasurement passes;
  LinkMeasurement activations;               ///< that arrived from the stage before
  LinkMeasurement gradients;                 ///< that arrived from the stage after
  double first_start_s = 0, last_end_s = 0;  ///< own clock; equal when nothing ran
  double upstream_offset_s = 0;              ///< clock of the stage before minus own
};

std::string to_bytes(const StageSummary& summary);
/// Throws Error(replica) when `bytes` are not a summary.
StageSummary summary_of_bytes(const std::string& bytes);

/// Pure: equal summaries in equal order give equal bits. Of tensor ranks the slowest decides a stage's times
/// and a link's delay, since the others wait for it. Asserts that every stage 0 … S − 1 is there in every
/// lane.
PipelineMeasurement combine(std::span<const StageSummary> summaries);

}  // namespace tenax::resilience
