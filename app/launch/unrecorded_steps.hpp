// What a supervisor that died had written into its run's ledger, or its replicas have left beside it, and not into what is made
// from it: metrics, events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "io/deck/deck.hpp"
#include "io/run/run_files.hpp"
#include "resilience/membership/records.hpp"

namespace tenax::app {

/// So many steps of metrics.jsonl stand for the commits that count: up to the first that is missing there, is in no
/// ledger, or was trained anew after a void line (what the audit compares). `seq_length`: tokens of a sample. Throws
/// Error(rank) where the metrics cannot be read.
std::int64_t count_recorded_steps(const std::filesystem::path& run_directory,
                                  const std::vector<resilience::Record>& ledger, std::int64_t seq_length);

/// The same where the run has done `steps`: metrics that go on from the end of a ledger that has fewer stand for steps that
/// it lost, or that were done without it.
std::int64_t count_recorded_steps_before(std::int64_t steps, const std::filesystem::path& run_directory,
                                         const std::vector<resilience::Record>& ledger,
                                         std::int64_t seq_length);

/// What the ledger has beyond the steps that metrics.jsonl has.
struct Unrecorded {
  std::vector<resilience::CommitRecord> commits;  ///< those that no later line has made void
  double since_s = 0;  ///< UNIX time at which the first of them began; 0: not known
};
/// `steps`: how many metrics.jsonl has.
Unrecorded unrecorded_commits(const std::vector<resilience::Record>& ledger, std::int64_t steps);

/// What it took since the one before, at that UNIX time; 0: not known.
double seconds_of(const resilience::CommitRecord& commit, double since_s);
/// The line of a step that took so long; 0: not known.
io::TrainingMetrics metrics_of(const resilience::CommitRecord& commit, std::int64_t seq_length,
                               double seconds);

/// The run goes on without a supervisor from `steps` steps on: what replicas have left of the steps before is put into its
/// ledger, if it has one, and what metrics lack of them into the metrics. Throws kernels::Error.
void record_left_steps(const io::Deck& deck, std::int64_t steps);

/// The last void line of the ledger, where no event `void` and no later launch follows it.
std::optional<resilience::VoidRecord> untold_void(const std::filesystem::path& run_directory,
                                                  const std::vector<resilience::Record>& ledger);

}  // namespace tenax::app
