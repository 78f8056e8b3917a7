#include "app/run_start.hpp"

#include <map>
#include <sstream>

#include "io/events_reader.hpp"
#include "resilience/checkpoint_directory.hpp"

namespace tenax::app {

namespace {

bool completed(const io::Deck& deck) {
  const auto last = io::last_event(deck.run.output_dir);
  return last && last->event == "end" && last->reason == "completed" && last->step >= deck.run.train_steps;
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
    if (section == "data" || section == "optimizer" || key == "run.seed" || key == "batch.global_batch_size")
      settings[key] = line.substr(equals + 3);
  }
  return settings;
}

}  // namespace

RunStart decide_start(const io::Deck& deck) {
  if (deck.run.resume == "never") return {};
  if (deck.run.resume != "auto") return {false, deck.run.resume};
  const auto checkpoints = resilience::list_checkpoints(deck.checkpoint.dir);
  if (completed(deck) || (!checkpoints.empty() && checkpoints.back().step >= deck.run.train_steps))
    return {true, {}};
  if (checkpoints.empty()) return {};
  return {false, checkpoints.back().path};
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
