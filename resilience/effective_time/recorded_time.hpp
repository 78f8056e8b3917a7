// The effective time of a run of replicas, from its run directory.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "resilience/effective_time/effective_time.hpp"
#include "resilience/effective_time/replica_rows.hpp"
#include "resilience/effective_time/time_picture.hpp"

namespace tenax::resilience {

/// Of the last launch. One that took living replicas over goes on with the launch before it.
struct RecordedTime {
  EffectiveTime account;
  double end_s = 0;  ///< of the run; where it has not ended, of what was recorded last
  bool has_ended = false;
  ReplicaRows replicas = {};
  std::vector<double> epochs = {};  ///< when each was decided

  std::vector<TimeSpan> spans() const { return account.spans(end_s); }
  TimePicture picture() const { return {.spans = spans(), .rows = replicas.rows(end_s), .epochs = epochs}; }
};

/// Reads `ledger.jsonl` and `events.jsonl` (EffectiveTime).
/// `options`: of the deck; when the launch began is read. Nothing where no launch is recorded. What
/// follows a broken line of the ledger is left out.
std::optional<RecordedTime> read_recorded_time(const std::filesystem::path& run_directory,
                                               EffectiveTime::Options options);

}  // namespace tenax::resilience
