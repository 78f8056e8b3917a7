// EarlierRecords: what a run's records say when a supervisor takes them up, and what its replicas left beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "app/console.hpp"
#include "app/supervisor/run_store.hpp"
#include "app/supervisor/supervisor_records.hpp"
#include "io/deck/deck.hpp"
#include "resilience/membership/records.hpp"

namespace tenax::app {

/// Used by one thread, before the membership service runs. `deck` and `store` outlive it.
class EarlierRecords {
 public:
  /// Opens the run's store and reads it. Throws as RunStore::open().
  EarlierRecords(const io::Deck& deck, RunStore& store);

  /// In the ledger's order.
  const std::vector<resilience::Record>& stored() const { return stored_; }
  /// The newest; null where there is none.
  const resilience::EpochRecord* last_epoch() const;
  /// Puts the steps that these replicas left, none of which writes any more, into the store. Throws Error(job) where
  /// it does not answer within the deck's deadline.
  void add_what_was_left(const std::vector<std::filesystem::path>& replica_directories);
  /// The run has done `steps`. Where the ledger has fewer, no later line could follow its last: a new one begins.
  void leave_short_ledger(std::int64_t steps, Console& console);
  /// So many steps of metrics.jsonl stand for what the records say.
  std::int64_t recorded_steps() const;
  /// The same where the run has done `steps`, which may be more than the ledger has: count_recorded_steps_before().
  std::int64_t recorded_steps_before(std::int64_t steps) const;
  /// Tells `records` the steps below `limit` that the ledger has and they have not: it is ahead of what is made from it.
  void add_unrecorded(SupervisorRecords& records, std::int64_t limit) const;

 private:
  const io::Deck& deck_;
  RunStore& store_;
  std::vector<resilience::Record> stored_;
};

}  // namespace tenax::app
