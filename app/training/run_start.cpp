#include "app/training/run_start.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "app/training/checkpoint_owner.hpp"
#include "io/deck/model_sizes.hpp"
#include "io/run/run_series.hpp"
#include "io/whole_file.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

namespace {

// The steps of a completed run that wrote no checkpoints, whose events are all that tells of its end; -1 if there is none.
std::int64_t completed_steps(const io::Deck& deck) {
  const auto last = io::last_event(deck.run.output_dir);
  if (!last || last->event != "end" || last->reason != "completed") return -1;
  const auto before = deck_of_directory(deck);
  if ((before ? *before : deck).checkpoint.interval < 0) return last->step;
  throw Error(Scope::rank, "the run in " + deck.run.output_dir + " was completed after " +
                               std::to_string(last->step) + " steps, but its checkpoints are gone from " +
                               deck.checkpoint.dir + ": bring one back, or begin anew with run.resume=never");
}

// What there is to resume from; collective.
RunStart start_from_checkpoint(comm::ControlGroup& group, const io::Deck& deck, std::int64_t after_step,
                               const resilience::Verification& verification) {
  RunStart start;
  if (!deck.run.resumes_newest()) {
    start.checkpoint = std::make_unique<resilience::CheckpointReader>(group, deck.run.resume, verification);
    return start;
  }
  resilience::FoundCheckpoint found =
      resilience::find_checkpoint(group, deck.checkpoint.dir, after_step, verification);
  start.checkpoint = std::move(found.checkpoint);
  start.passed_over = std::move(found.passed_over);
  return start;
}

// Rank 0 alone.
RunStart start_without_checkpoint(const io::Deck& deck) {
  check_checkpoints_are_nowhere_else(deck);
  const std::int64_t steps = completed_steps(deck);
  if (steps < deck.run.train_steps) return {};
  if (const auto before = deck_of_directory(deck))
    io::check_same_model(fs::path(deck.run.output_dir) / "deck.toml", before->model, deck.model);
  RunStart start;
  start.finished = true;
  start.steps = steps;
  return start;
}

// Whether a setting decides what is learnt, but not which weights there are.
bool is_comparable(const std::string& section, const std::string& key) {
  return section == "data" || section == "optimizer" || key == "run.seed" ||
         key == "batch.global_batch_size" || key == "model.compute_dtype";
}

// "section.key" -> value, of the settings that are comparable.
std::map<std::string, std::string> comparable_settings(const std::string& toml) {
  std::map<std::string, std::string> settings;
  std::istringstream lines(toml);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const std::string key = section + "." + line.substr(0, equals);
    if (key == "data.tokenizer" && line.ends_with("\"\"")) continue;  // nobody knows
    if (is_comparable(section, key)) settings[key] = line.substr(equals + 3);
  }
  return settings;
}

}  // namespace

std::optional<io::Deck> deck_of_directory(const io::Deck& deck) {
  std::string text;
  if (io::read_text_file(fs::path(deck.run.output_dir) / "deck.toml", text)) return {};
  return io::readable_deck(text);
}

RunStart decide_start(comm::ControlGroup& group, const io::Deck& deck, std::int64_t after_step,
                      const resilience::Verification& verification) {
  RunStart start;
  if (deck.run.never_resumes()) return start;
  if (deck.device.kind != io::DeviceKind::emulated)
    start = start_from_checkpoint(group, deck, after_step, verification);
  if (!start.checkpoint) {
    group.agree([&] {
      if (group.rank() == 0) start = start_without_checkpoint(deck);
    });
    start.finished = !group.broadcast(start.finished ? "finished" : "", 0).empty();
    return start;
  }
  group.agree([&] { start.checkpoint->check_model(deck.model); });
  start.steps = start.checkpoint->info().step;
  start.finished = start.steps >= deck.run.train_steps;
  return start;
}

std::vector<std::string> changed_settings(const io::Deck& now, const std::string& checkpoint_deck) {
  auto before = comparable_settings(checkpoint_deck);
  if (!before.empty()) before.try_emplace("optimizer.kind", "\"adamw\"");  // there was no other
  std::vector<std::string> sentences;
  for (const auto& [key, value] : comparable_settings(io::to_toml(now))) {
    const auto old = before.find(key);
    if (old != before.end() && old->second != value)
      sentences.push_back(key + " was " + old->second + " when the checkpoint was written, is " + value +
                          " now");
  }
  return sentences;
}

std::int64_t next_sample_of(const io::CheckpointInfo& info) {
  if (info.next_sample) return *info.next_sample;
  return info.step * io::parse_resolved_deck(info.deck).batch.global_batch_size;
}

std::vector<std::string> changes_on_resume(const io::Deck& now, const std::string& checkpoint_deck,
                                           std::int64_t next_sample) {
  std::vector<std::string> sentences = changed_settings(now, checkpoint_deck);
  for (std::string& sentence : sentences)
    if (sentence.starts_with("batch.global_batch_size "))
      sentence += ": it goes on with sample " + std::to_string(next_sample) +
                  ", the first that no step before has had";
  return sentences;
}

std::string changed_files(const io::Deck& now, const io::CheckpointInfo& info,
                          const std::string& data_checksum) {
  const std::string& before = info.origin.data_checksum;
  if (before.empty() || before == data_checksum) return {};
  for (const std::string& change : changed_settings(now, info.deck))
    if (change.starts_with("data.")) return {};  // that says it
  return "the data files are others than when the checkpoint was written: one has come, gone or changed; "
         "samples come in another order";
}

std::string missing_moments(const io::CheckpointInfo& info, const std::vector<std::string>& moments) {
  const std::vector<std::string> groups = info.groups();
  std::string missing;
  int count = 0;
  for (const std::string& moment : moments) {
    if (std::find(groups.begin(), groups.end(), io::moment_group(moment)) != groups.end()) continue;
    missing += (count++ > 0 ? ", " : "") + moment;
  }
  if (count == 0) return {};
  return "the checkpoint has no " + missing + (count == 1 ? "; it starts at zero" : "; they start at zero");
}

}  // namespace tenax::app
