// The audit of a run of replicas: its ledger, and what else it has written, tell the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenax::io {

/// What a checkpoint says of the run.
struct AuditedCheckpoint {
  std::string name;              ///< for messages
  std::int64_t step = 0;         ///< steps done
  std::int64_t next_sample = 0;  ///< the first that none of them had
};

struct AuditReport {
  std::int64_t steps = 0, samples = 0;  ///< that count
  std::int64_t voids = 0, epochs = 0;   ///< lines of each kind
  std::int64_t replicas_lost = 0;       ///< where no member survived: as events.jsonl has it
  std::string contradiction;            ///< the first; empty: there is none
  bool is_clean() const { return contradiction.empty(); }
};

/// Checks ledger.jsonl line by line (LedgerReader, LedgerAudit), then against it
/// * metrics.jsonl: from the ledger's first step on it has the steps that count, in order and once,
///   with their loss, gradient norm, learning rate, contributing replicas, and tokens: `seq_length`
///   for each sample (unset: the same number in all lines). It is written after the ledger: its last
///   line may not be there yet, and where the run goes on it may have steps that came to the ledger meanwhile;
/// * checkpoints: none is of later steps, each goes on with the sample that its next step has, and is of the steps that
///   its name says.
/// A ledger that is absent, empty or cut off is a contradiction too. Counts are those up to it.
AuditReport audit_run(const std::filesystem::path& run_directory,
                      const std::vector<AuditedCheckpoint>& checkpoints,
                      std::optional<std::int64_t> seq_length);

}  // namespace tenax::io
