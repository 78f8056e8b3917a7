#include "app/launch/unrecorded_steps.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "app/launch/launch_files.hpp"
#include "app/launch/unrecorded_commits.hpp"
#include "io/json_parse.hpp"
#include "io/run/launch_events.hpp"
#include "io/run/ledger.hpp"
#include "io/run/metrics_difference.hpp"
#include "io/run/metrics_lines.hpp"
#include "io/run/tensorboard_writer.hpp"
#include "resilience/membership/committed_steps.hpp"
#include "resilience/replicas/ledger_store.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using resilience::CommitRecord;
using resilience::VoidRecord;

namespace {

/// The steps that were ever void, and what counts of them now.
struct Retrained {
  std::int64_t from = std::numeric_limits<std::int64_t>::max();
  std::map<std::int64_t, const CommitRecord*> commits;  // by step
};

Retrained retrained_steps(const std::vector<resilience::Record>& ledger) {
  Retrained found;
  for (const resilience::Record& record : ledger) {
    if (const auto* gone = std::get_if<VoidRecord>(&record)) {
      found.from = std::min(found.from, gone->void_from);
      found.commits.erase(found.commits.lower_bound(gone->void_from), found.commits.end());
    }
    const auto* commit = std::get_if<CommitRecord>(&record);
    if (commit && commit->step >= found.from) found.commits[commit->step] = commit;
  }
  return found;
}

bool stands_for(std::string_view line, const CommitRecord& commit, std::int64_t seq_length) {
  const auto said = io::parse_json(line).value;
  const auto counted = std::get<io::LedgerCommit>(resilience::to_ledger(commit).what);
  return said.is_object() && io::metrics_difference(said, counted, seq_length).empty();
}

// The clocks of two hosts differ.
bool tells_of(const io::LaunchEvent& event, const VoidRecord& gone) {
  constexpr double kDifference_s = 60;
  if (event.event == "launch") return event.time_s > gone.time;
  return event.event == "void" && event.time_s > gone.time - kDifference_s &&
         event.number("void_from") == static_cast<double>(gone.void_from);
}

}  // namespace

// Lines of steps that never were void are as they were written.
std::int64_t count_recorded_steps(const fs::path& run_directory,
                                  const std::vector<resilience::Record>& ledger, std::int64_t seq_length) {
  resilience::CommittedSteps steps;
  for (const resilience::Record& record : ledger) steps.add(record);
  const std::int64_t most = steps.epoch() ? steps.done() : std::numeric_limits<std::int64_t>::max();
  const Retrained retrained = retrained_steps(ledger);
  std::int64_t recorded = 0;
  bool agrees = true;
  io::for_each_line(io::metrics_text(run_directory), [&](std::string_view text) {
    const auto line = io::metrics_line(text);
    if (!agrees || !line || line->is_validation) return;
    const auto commit = retrained.commits.find(line->step);
    if (line->step >= retrained.from)
      agrees = line->step <= recorded && commit != retrained.commits.end() &&
               stands_for(text, *commit->second, seq_length);
    if (agrees) recorded = std::max(recorded, line->step + 1);
  });
  return std::min(recorded, most);
}

std::int64_t count_recorded_steps_before(std::int64_t steps, const fs::path& run_directory,
                                         const std::vector<resilience::Record>& ledger,
                                         std::int64_t seq_length) {
  resilience::CommittedSteps committed;
  for (const resilience::Record& record : ledger) committed.add(record);
  const std::int64_t recorded = count_recorded_steps(run_directory, ledger, seq_length);
  const bool is_short = committed.epoch() && committed.done() < steps;
  if (!is_short || recorded < committed.done()) return recorded;
  return count_recorded_steps(run_directory, {}, seq_length);
}

Unrecorded unrecorded_commits(const std::vector<resilience::Record>& ledger, std::int64_t steps) {
  Unrecorded unrecorded;
  auto& commits = unrecorded.commits;
  for (const resilience::Record& record : ledger) {
    if (const auto* gone = std::get_if<VoidRecord>(&record))
      std::erase_if(commits, [&](const auto& commit) { return commit.step >= gone->void_from; });
    const auto* commit = std::get_if<CommitRecord>(&record);
    if (commit && commit->step >= steps)
      commits.push_back(*commit);
    else if (commits.empty())
      unrecorded.since_s = std::visit([](const auto& known) { return known.time; }, record);
  }
  return unrecorded;
}

io::TrainingMetrics metrics_of(const CommitRecord& commit, std::int64_t seq_length, double seconds) {
  const std::int64_t tokens = resilience::count_samples(commit.parts) * seq_length;
  io::TrainingMetrics metrics{.step = commit.step,
                              .loss = commit.loss,
                              .grad_norm = commit.grad_norm,
                              .lr = commit.lr,
                              .tokens = tokens,
                              .seconds = seconds,
                              .tokens_per_second = seconds > 0 ? static_cast<double>(tokens) / seconds : 0};
  std::set<int> contributing;
  for (const resilience::Part& part : commit.parts) contributing.insert(part.replica);
  metrics.replicas = static_cast<std::int64_t>(contributing.size());
  metrics.is_masked = commit.is_masked;
  if (commit.iteration_s > 0) metrics.iteration_seconds = commit.iteration_s;
  return metrics;
}

double seconds_of(const CommitRecord& commit, double since_s) {
  constexpr double kLeast_s = 1e-9;
  return since_s > 0 ? std::max(commit.time - since_s, kLeast_s) : 0;
}

void record_left_steps(const io::Deck& deck, std::int64_t steps) {
  const fs::path run = deck.run.output_dir;
  if (!fs::exists(io::ledger_of_run(run))) return;
  const std::vector<fs::path> directories = replica_directories(run);
  resilience::LedgerStore store(run);
  std::vector<resilience::Record> ledger = store.load();
  const std::vector<resilience::Record> left = read_unrecorded(directories, ledger);
  store.append(left);
  store.sync();
  remove_unrecorded(directories);
  ledger.insert(ledger.end(), left.begin(), left.end());
  const std::int64_t seq_length = deck.model.seq_length;
  const std::int64_t recorded = std::min(steps, count_recorded_steps_before(steps, run, ledger, seq_length));
  Unrecorded unrecorded = unrecorded_commits(ledger, recorded);
  std::erase_if(unrecorded.commits, [&](const CommitRecord& commit) { return commit.step >= steps; });
  if (unrecorded.commits.empty()) return;
  io::MetricsWriter writer(run, recorded);
  std::optional<io::TensorBoardWriter> tensorboard;
  if (deck.run.tensorboard) tensorboard.emplace(run, recorded);
  for (double since_s = unrecorded.since_s; const CommitRecord& commit : unrecorded.commits) {
    const io::TrainingMetrics metrics =
        metrics_of(commit, seq_length, seconds_of(commit, std::exchange(since_s, commit.time)));
    writer.training(metrics);
    if (tensorboard) tensorboard->training(metrics);
  }
}

// Each launch does with the checkpoints as it finds them.
std::optional<VoidRecord> untold_void(const fs::path& run_directory,
                                      const std::vector<resilience::Record>& ledger) {
  const auto last = std::find_if(ledger.rbegin(), ledger.rend(), [](const resilience::Record& record) {
    return std::holds_alternative<VoidRecord>(record);
  });
  if (last == ledger.rend()) return {};
  const auto& gone = std::get<VoidRecord>(*last);
  const auto events = io::read_launch_events(run_directory);
  if (std::any_of(events.begin(), events.end(), [&](const auto& event) { return tells_of(event, gone); }))
    return {};
  return gone;
}

}  // namespace tenax::app
