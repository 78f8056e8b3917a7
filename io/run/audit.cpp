#include "io/run/audit.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "io/json_parse.hpp"
#include "io/run/ledger.hpp"
#include "io/run/ledger_audit.hpp"
#include "io/run/metrics_difference.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const std::string& sentence) { throw kernels::Error(kernels::Scope::rank, sentence); }

/// The ledger, which a run that goes on may prolong while it is audited.
class AuditedLedger {
 public:
  /// Takes all that is there.
  AuditedLedger(const fs::path& file, LedgerAudit& audit) : file_(file), reader_(file), audit_(audit) {
    while (take_next()) continue;
    if (reader_.line() == 0) fail(file.string() + ": the ledger is empty");
  }
  /// False where nothing has come.
  bool take_next() {
    const auto record = reader_.next();
    if (!record) return false;
    try {
      audit_.take(*record);
    } catch (const kernels::Error& error) {
      fail(file_.string() + ":" + std::to_string(reader_.line()) + ": " + error.what());
    }
    return true;
  }
  const LedgerAudit& audit() const { return audit_; }

 private:
  fs::path file_;
  LedgerReader reader_;
  LedgerAudit& audit_;
};

/// The training lines of metrics.jsonl, one after the other.
class MetricsAudit {
 public:
  MetricsAudit(const fs::path& file, AuditedLedger& ledger, std::optional<std::int64_t> seq_length)
      : file_(file),
        lines_(ledger),
        ledger_(ledger.audit()),
        seq_length_(seq_length),
        next_step_(ledger_.first_step()) {}

  void take(const json& line) {
    if (!line.contains("loss") || whole(line, "step") < ledger_.first_step()) return;
    const std::int64_t step = whole(line, "step");
    if (step != next_step_)
      fail("has step " + std::to_string(step) + " where step " + std::to_string(next_step_) + " is the next");
    while (step >= ledger_.next_step())
      if (!lines_.take_next()) fail("has step " + std::to_string(step) + ", which was not committed");
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
  AuditedLedger& lines_;
  const LedgerAudit& ledger_;  // what they say
  std::optional<std::int64_t> seq_length_;
  std::int64_t next_step_;
};

void audit_metrics(const fs::path& file, AuditedLedger& ledger, std::optional<std::int64_t> seq_length) {
  MetricsAudit audit(file, ledger, seq_length);
  for_each_json_line(file, [&](const json& line) { audit.take(line); });
  audit.finish();
}

/// That of "step-000100.h5"; nothing for other names.
std::optional<std::int64_t> step_in_name(const fs::path& file) {
  constexpr std::string_view kPrefix = "step-";
  const std::string stem = file.stem().string();
  return stem.starts_with(kPrefix) ? kernels::number_of<std::int64_t>(stem.substr(kPrefix.size()))
                                   : std::nullopt;
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
  if (step_in_name(checkpoint.name).value_or(checkpoint.step) != checkpoint.step)
    fail(checkpoint.name + " is of " + std::to_string(checkpoint.step) + " steps, which its name denies");
}

/// Those of `members` that a supervisor saw die.
std::int64_t seen_lost(const fs::path& run_directory, const std::vector<LedgerEpoch::Member>& members) {
  std::set<std::pair<std::int64_t, std::int64_t>> lost;
  for_each_json_line(run_directory / "events.jsonl", [&](const json& event) {
    if (text_in(event, "event") != "replica_lost" || text_in(event, "reason") == "given_up") return;
    const auto replica = event.find("replica"), incarnation = event.find("incarnation");
    if (replica != event.end() && replica->is_number_integer() && incarnation != event.end() &&
        incarnation->is_number_integer())
      lost.emplace(replica->get<std::int64_t>(), incarnation->get<std::int64_t>());
  });
  return std::count_if(members.begin(), members.end(), [&](const LedgerEpoch::Member& member) {
    return lost.contains({member.replica, member.incarnation});
  });
}

}  // namespace

AuditReport audit_run(const fs::path& run_directory, const std::vector<AuditedCheckpoint>& checkpoints,
                      std::optional<std::int64_t> seq_length) {
  LedgerAudit ledger;
  AuditReport report;
  try {
    AuditedLedger lines(ledger_of_run(run_directory), ledger);
    audit_metrics(run_directory / "metrics.jsonl", lines, seq_length);
    for (const AuditedCheckpoint& checkpoint : checkpoints) audit_checkpoint(checkpoint, ledger);
  } catch (const kernels::Error& error) {
    report.contradiction = error.what();
  }
  report.steps = static_cast<std::int64_t>(ledger.commits().size());
  for (const LedgerCommit& commit : ledger.commits()) report.samples += commit.samples;
  report.voids = ledger.voids();
  report.epochs = ledger.epochs();
  report.replicas_lost = ledger.replicas_lost() + seen_lost(run_directory, ledger.ended_together());
  return report;
}

}  // namespace tenax::io
