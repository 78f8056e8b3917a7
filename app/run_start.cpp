#include "app/run_start.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "io/events_reader.hpp"
#include "io/model_sizes.hpp"
#include "io/run_files.hpp"
#include "resilience/checkpoint_directory.hpp"

namespace tenax::app {

namespace {

// The steps of the run that its directory says is complete; -1 if it does not.
std::int64_t completed_steps(const io::Deck& deck) {
  const auto last = io::last_event(deck.run.output_dir);
  return last && last->event == "end" && last->reason == "completed" ? last->step : -1;
}

void check_model(const io::Deck& deck) {
  const std::filesystem::path file = std::filesystem::path(deck.run.output_dir) / "deck.toml";
  std::string text;
  if (io::read_text_file(file, text)) return;  // nothing to compare with
  io::check_same_model(file, io::sizes_of(io::parse_resolved_deck(text).model), io::sizes_of(deck.model));
}

// "section.key" -> value, of the settings that decide what is learnt but not what the model is.
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
    if (section == "data" || section == "optimizer" || key == "run.seed" || key == "batch.global_batch_size")
      settings[key] = line.substr(equals + 3);
  }
  return settings;
}

}  // namespace

RunStart decide_start(const io::Deck& deck) {
  RunStart start;
  if (deck.run.resume == "never") return start;
  if (deck.run.resume != "auto") {
    start.checkpoint = deck.run.resume;
    return start;
  }
  const auto checkpoints = resilience::list_checkpoints(deck.checkpoint.dir);
  if (!checkpoints.empty()) start.checkpoint = checkpoints.back().path;
  start.steps = std::max(completed_steps(deck), checkpoints.empty() ? 0 : checkpoints.back().step);
  start.finished = start.steps >= deck.run.train_steps;
  if (start.finished) check_model(deck);
  return start;
}

std::vector<std::string> changed_settings(const io::Deck& now, const std::string& checkpoint_deck) {
  const auto before = comparable_settings(checkpoint_deck);
  std::vector<std::string> sentences;
  for (const auto& [key, value] : comparable_settings(io::to_toml(now))) {
    const auto old = before.find(key);
    if (old != before.end() && old->second != value)
      sentences.push_back(key + " was " + old->second + " when the checkpoint was written, is " + value +
                          " now");
  }
  return sentences;
}

}  // namespace tenax::app
