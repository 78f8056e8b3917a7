// What a supervisor that died had written into its run's ledger, and not into what is made from it: metrics, events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::app {

/// So many steps of metrics.jsonl stand for the commits that count: up to the first that is missing there, is in no
/// ledger, or was trained anew after a void line (what the audit compares). `seq_length`: tokens of a sample. Throws
/// Error(rank) where the metrics cannot be read.
std::int64_t count_recorded_steps(const std::filesystem::path& run_directory,
                                  const std::vector<resilience::Record>& ledger, std::int64_t seq_length);

/// What the ledger has beyond the steps that metrics.jsonl has.
struct Unrecorded {
  std::vector<resilience::CommitRecord> commits;  ///< those that no later line has made void
  double since_s = 0;  ///< UNIX time at which the first of them began; 0: not known
};
/// `steps`: how many metrics.jsonl has.
Unrecorded unrecorded_commits(const std::vector<resilience::Record>& ledger, std::int64_t steps);

/// The last void line of the ledger, where no event `void` and no later launch follows it.
std::optional<resilience::VoidRecord> untold_void(const std::filesystem::path& run_directory,
                                                  const std::vector<resilience::Record>& ledger);

}  // namespace tenax::app
