#include "app/commands/commands.hpp"

#include <algorithm>
#include <cstdio>

#include "app/command_line.hpp"
#include "app/console.hpp"
#include "app/training/run_start.hpp"
#include "app/units.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/deck/deck.hpp"
#include "io/json.hpp"
#include "io/run/audit.hpp"
#include "io/run/run_summary.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

namespace fs = std::filesystem;

/// The complete ones, by name.
std::vector<io::AuditedCheckpoint> checkpoints_of(const fs::path& run) {
  std::vector<io::AuditedCheckpoint> checkpoints;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(io::checkpoint_directory_of_run(run), none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("step-") || !name.ends_with(".h5")) continue;
    try {
      const io::CheckpointInfo info = io::open_checkpoint(entry.path());
      checkpoints.push_back({entry.path().string(), info.step, next_sample_of(info)});
    } catch (const kernels::Error& error) {
      print_notice(std::string("a checkpoint is left out: ") + error.what());
    }
  }
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return checkpoints;
}

std::optional<std::int64_t> seq_length_of(const fs::path& run) {
  std::string text;
  io::read_text_file(run / "deck.toml", text);
  const auto deck = io::readable_deck(text);
  return deck ? std::optional(deck->model.seq_length) : std::nullopt;
}

std::string json_of(const io::AuditReport& report) {
  io::JsonObject object;
  object.add("ok", report.is_clean())
      .add("steps", report.steps)
      .add("samples", report.samples)
      .add("voids", report.voids)
      .add("epochs", report.epochs)
      .add("replicas_lost", report.replicas_lost);
  if (report.is_clean())
    object.add_json("contradiction", "null");
  else
    object.add("contradiction", report.contradiction);
  return object.text();
}

}  // namespace

int audit_command(const Arguments& arguments) {
  const CommandLine line({"audit", {}, {"json"}, 1, 1}, arguments);
  const fs::path run = line.positional().front();
  const io::AuditReport report = io::audit_run(run, checkpoints_of(run), seq_length_of(run));
  if (line.has("json")) {
    std::printf("%s\n", json_of(report).c_str());
    return report.is_clean() ? 0 : 1;
  }
  if (!report.is_clean()) throw kernels::Error(kernels::Scope::rank, report.contradiction);
  std::printf(
      "%s: %lld steps, each once and in order, had %lld samples, each once and in order\n"
      "(%lld epochs of members, %lld replicas lost, %lld void lines)\n",
      run.c_str(), static_cast<long long>(report.steps), static_cast<long long>(report.samples),
      static_cast<long long>(report.epochs), static_cast<long long>(report.replicas_lost),
      static_cast<long long>(report.voids));
  return 0;
}

}  // namespace tenax::app
