// ledger.jsonl: the steps of a run of replicas that count, proven by a chain of checksums. Each line
// carries the checksum (io/checksum.hpp) of the one before.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "io/run/ledger_record.hpp"
#include "io/run/line_file.hpp"

namespace tenax::io {

std::filesystem::path ledger_of_run(const std::filesystem::path& run_directory);
/// A run goes on with steps that its ledger does not have: keeps it as ledger.jsonl.1, .2, …, whose name is returned; nothing
/// where there is none. Throws Error(rank).
std::optional<std::filesystem::path> set_ledger_aside(const std::filesystem::path& run_directory);

/// Reads a ledger from its beginning. What is wrong is an Error(rank) that names file and line.
class LedgerReader {
 public:
  /// Throws where there is no such file.
  explicit LedgerReader(const std::filesystem::path& file);
  /// The next record; nothing at the end, where it may be called again: a run that goes on moves it.
  /// Throws for a line that is cut off and stays so, is no record (parse_ledger_line()), or does not
  /// follow the one before.
  std::optional<LedgerRecord> next();
  /// The line of the last record, from 1.
  std::int64_t line() const { return line_; }
  /// What `previous` of the next line is.
  const std::string& chain() const { return chain_; }

 private:
  /// Of one that has no end yet: a run may just be writing it.
  std::string rest_of_line();
  LedgerLine parse(const std::string& text) const;
  [[noreturn]] void fail(const std::string& sentence) const;

  std::filesystem::path file_;
  std::ifstream stream_;
  std::int64_t line_ = 0;
  std::string chain_;
};

/// Appends to a run's ledger. One process at a time does so (RunLock). Used by one thread.
class LedgerWriter {
 public:
  /// Continues the run's ledger, or begins one. A last line without its end, which a killed writer
  /// left, is cut off. Gives `take` each record that is there, in order: a long ledger is read once.
  /// Throws Error(rank), with advice, for a ledger that is broken elsewhere.
  explicit LedgerWriter(
      const std::filesystem::path& run_directory,
      const std::function<void(const LedgerRecord&)>& take = [](const LedgerRecord&) {});
  /// One write(2). Throws Error(rank); then nothing was added.
  void append(const LedgerRecord& record);
  /// All that was added outlives a crash of the host from now on: fsync(2).
  void sync() { lines_.sync(); }
  LineFile& file() { return lines_; }

 private:
  LineFile lines_;
  std::string chain_;
};

}  // namespace tenax::io
