// Ledgers of runs that are made up, for tests.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/run/audit.hpp"
#include "io/run/ledger.hpp"
#include "io/run/run_files.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {

inline constexpr std::int64_t kSeqLength = 32;

/// All records of a run; none without a ledger.
inline std::vector<LedgerRecord> read_ledger(const std::filesystem::path& run_directory) {
  std::vector<LedgerRecord> records;
  if (!std::filesystem::exists(ledger_of_run(run_directory))) return records;
  LedgerReader reader(ledger_of_run(run_directory));
  while (auto record = reader.next()) records.push_back(std::move(*record));
  return records;
}

inline LedgerRecord commit_of(std::int64_t step, std::int64_t epoch, std::vector<LedgerCommit::Part> parts) {
  LedgerCommit commit;
  commit.step = step;
  commit.epoch = epoch;
  commit.parts = std::move(parts);
  commit.first_sample = commit.parts.front().first;
  for (const LedgerCommit::Part& part : commit.parts) {
    commit.first_sample = std::min(commit.first_sample, part.first);
    commit.samples += part.count;
  }
  commit.loss = 5.5 - 0.1 * static_cast<double>(step);
  commit.grad_norm = 1.25 + static_cast<double>(step);
  commit.lr = 1e-3;
  commit.squares = std::bit_cast<std::uint64_t>(commit.grad_norm * commit.grad_norm);
  return {1800000000.125 + static_cast<double>(step), commit};
}

inline LedgerRecord epoch_of(std::int64_t epoch, std::int64_t from_step, const std::string& reason,
                             std::vector<LedgerEpoch::Member> members) {
  return {1800000000.0 + static_cast<double>(from_step),
          LedgerEpoch{epoch, from_step, std::move(members), reason}};
}

inline LedgerRecord void_of(std::int64_t from, std::int64_t epoch) {
  return {1800000000.5 + static_cast<double>(from), LedgerVoid{from, epoch}};
}

/// Two replicas; the second dies, comes back, and contributes again; then all die, and the last two steps are trained
/// again.
inline std::vector<LedgerRecord> eventful_run() {
  return {
      epoch_of(1, 0, "start", {{0, 1, "a"}, {1, 1, "b"}}),
      commit_of(0, 1, {{0, 0, 4}, {1, 4, 4}}),
      commit_of(1, 1, {{0, 8, 4}, {1, 12, 4}}),
      epoch_of(2, 2, "lost", {{0, 1, "a"}}),
      commit_of(2, 2, {{0, 16, 4}, {0, 20, 4}}),
      epoch_of(3, 3, "join", {{0, 1, "a"}, {1, 2, "b"}}),
      commit_of(3, 3, {{0, 24, 8}}),
      commit_of(4, 3, {{1, 36, 4}, {0, 32, 4}}),
      void_of(3, 4),
      epoch_of(4, 3, "start", {{1, 3, "b"}, {0, 2, "a"}}),
      commit_of(3, 4, {{1, 24, 4}, {0, 28, 4}}),
      commit_of(4, 4, {{1, 32, 4}, {0, 36, 4}}),
      commit_of(5, 4, {{1, 40, 4}, {0, 44, 4}}),
  };
}

/// The steps that count in it.
inline std::vector<LedgerCommit> counted_commits() {
  std::vector<LedgerCommit> commits(6);
  for (const LedgerRecord& record : eventful_run())
    if (const auto* commit = std::get_if<LedgerCommit>(&record.what))
      commits[static_cast<std::size_t>(commit->step)] = *commit;
  return commits;
}

inline TrainingMetrics metrics_of(const LedgerCommit& commit, std::int64_t replicas) {
  return {.step = commit.step,
          .loss = commit.loss,
          .grad_norm = commit.grad_norm,
          .lr = commit.lr,
          .tokens = commit.samples * kSeqLength,
          .seconds = 0.5,
          .tokens_per_second = 512,
          .replicas = replicas};
}

inline std::string line_of_commit(const LedgerCommit& commit, std::int64_t replicas) {
  const TemporaryFolder folder;
  MetricsWriter(folder.path(), 0).training(metrics_of(commit, replicas));
  return folder.read("metrics.jsonl");
}

inline std::string metrics_of_eventful_run() {
  std::string text;
  for (const LedgerCommit& commit : counted_commits())
    text += line_of_commit(commit, commit.step == 2 ? 1 : 2);
  return text + "{\"step\": 6, \"validation_loss\": 4.5}\n";
}

inline void write_ledger(const TemporaryFolder& folder, const std::vector<LedgerRecord>& records) {
  std::filesystem::remove(ledger_of_run(folder.path()));
  LedgerWriter writer(folder.path());
  for (const LedgerRecord& record : records) writer.append(record);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The lines with their chain made anew: what somebody would write who forges a ledger.
inline std::string chained(const std::vector<std::string>& lines) {
  std::string text, chain = chain_text("");
  for (const std::string& line : lines) {
    auto object = nlohmann::ordered_json::parse(line);
    object["previous"] = chain;
    const std::string forged = object.dump();
    chain = chain_text(forged);
    text += forged + "\n";
  }
  return text;
}

}  // namespace tenax::io::test
