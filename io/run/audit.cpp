#include "io/run/audit.hpp"

#include "io/json_parse.hpp"
#include "io/run/ledger.hpp"
#include "io/run/ledger_audit.hpp"
#include "io/run/metrics_difference.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const std::string& sentence) { throw kernels::Error(kernels::Scope::rank, sentence); }

void audit_ledger(const fs::path& file, LedgerAudit& audit) {
  LedgerReader reader(file);
  while (const auto record = reader.next()) {
    try {
      audit.take(*record);
    } catch (const kernels::Error& error) {
      fail(file.string() + ":" + std::to_string(reader.line()) + ": " + error.what());
    }
  }
  if (reader.line() == 0) fail(file.string() + ": the ledger is empty");
}

/// The training lines of metrics.jsonl, one after the other.
class MetricsAudit {
 public:
  MetricsAudit(const fs::path& file, const LedgerAudit& ledger, std::optional<std::int64_t> seq_length)
      : file_(file), ledger_(ledger), seq_length_(seq_length), next_step_(ledger.first_step()) {}

  void take(const json& line) {
    if (!line.contains("loss") || whole(line, "step") < ledger_.first_step()) return;
    const std::int64_t step = whole(line, "step");
    if (step != next_step_)
      fail("has step " + std::to_string(step) + " where step " + std::to_string(next_step_) + " is the next");
    if (step >= ledger_.next_step()) fail("has step " + std::to_string(step) + ", which was not committed");
    const LedgerCommit& commit = ledger_.commits()[static_cast<std::size_t>(step - ledger_.first_step())];
    if (!seq_length_) seq_length_ = whole(line, "tokens") / commit.samples;
    if (const auto difference = metrics_difference(line, commit, *seq_length_); !difference.empty())
      fail("says of step " + std::to_string(step) + " " + difference);
    ++next_step_;
  }
  void finish() const {
    if (ledger_.next_step() > next_step_ + 1) fail("lacks step " + std::to_string(next_step_));
  }

 private:
  [[noreturn]] void fail(const std::string& sentence) const { io::fail(file_.string() + " " + sentence); }

  std::int64_t whole(const json& line, const char* name) const {
    const auto found = line.find(name);
    if (found == line.end() || !found->is_number_integer())
      fail("has a line whose " + std::string(name) + " is no whole number");
    return found->get<std::int64_t>();
  }

  fs::path file_;
  const LedgerAudit& ledger_;
  std::optional<std::int64_t> seq_length_;
  std::int64_t next_step_;
};

void audit_metrics(const fs::path& file, const LedgerAudit& ledger, std::optional<std::int64_t> seq_length) {
  MetricsAudit audit(file, ledger, seq_length);
  for_each_json_line(file, [&](const json& line) { audit.take(line); });
  audit.finish();
}

void audit_checkpoint(const AuditedCheckpoint& checkpoint, const LedgerAudit& ledger) {
  if (checkpoint.step < ledger.first_step()) return;  // older than the ledger
  if (checkpoint.step > ledger.next_step())
    fail(checkpoint.name + " is of " + std::to_string(checkpoint.step) + " steps, but " +
         std::to_string(ledger.next_step()) + " were committed");
  const auto index = static_cast<std::size_t>(checkpoint.step - ledger.first_step());
  const std::optional<std::int64_t> expected =
      index < ledger.commits().size() ? ledger.commits()[index].first_sample : ledger.next_sample();
  if (expected && checkpoint.next_sample != *expected)
    fail(checkpoint.name + " goes on with sample " + std::to_string(checkpoint.next_sample) +
         ", but after step " + std::to_string(checkpoint.step - 1) + " sample " + std::to_string(*expected) +
         " is the next");
}

}  // namespace

AuditReport audit_run(const fs::path& run_directory, const std::vector<AuditedCheckpoint>& checkpoints,
                      std::optional<std::int64_t> seq_length) {
  LedgerAudit ledger;
  AuditReport report;
  try {
    audit_ledger(ledger_of_run(run_directory), ledger);
    audit_metrics(run_directory / "metrics.jsonl", ledger, seq_length);
    for (const AuditedCheckpoint& checkpoint : checkpoints) audit_checkpoint(checkpoint, ledger);
  } catch (const kernels::Error& error) {
    report.contradiction = error.what();
  }
  report.steps = static_cast<std::int64_t>(ledger.commits().size());
  for (const LedgerCommit& commit : ledger.commits()) report.samples += commit.samples;
  report.voids = ledger.voids();
  report.epochs = ledger.epochs();
  report.replicas_lost = ledger.replicas_lost();
  return report;
}

}  // namespace tenax::io
