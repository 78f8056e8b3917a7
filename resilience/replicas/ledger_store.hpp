// LedgerStore: the membership service's records as the lines of the run's ledger.jsonl.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "io/run/ledger.hpp"
#include "resilience/membership/records.hpp"

namespace tenax::resilience {

class LedgerStore final : public RecordStore {
 public:
  /// Continues the run's ledger, or begins one. Throws kernels::Error(rank) for a broken one.
  explicit LedgerStore(const std::filesystem::path& run_directory);

  bool append(const std::vector<Record>& records) override;
  void sync() override { writer_.sync(); }
  /// They are not kept after the first call.
  std::vector<Record> load() override { return std::move(found_); }
  /// Nobody has taken the ledger away to continue it.
  bool in_place() { return writer_.file().in_place(); }

 private:
  std::vector<Record> found_;  // by writer_, as it begins
  io::LedgerWriter writer_;
};

/// The records of a run's ledger from that UNIX time on, which nobody changes thereby; none where there is no ledger.
/// What follows a broken line is left out.
std::vector<Record> read_ledger(const std::filesystem::path& run_directory, double since_s = 0);

io::LedgerRecord to_ledger(const Record& record);
Record of_ledger(const io::LedgerRecord& record);

}  // namespace tenax::resilience
