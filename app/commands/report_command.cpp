#include "app/commands/commands.hpp"

#include <cstdio>

#include "app/command_line.hpp"
#include "app/console.hpp"
#include "app/effective_text.hpp"
#include "app/report/report_data.hpp"
#include "app/report/report_page.hpp"
#include "io/output_place.hpp"
#include "io/run/trace_file.hpp"
#include "kernels/error.hpp"
#include "resilience/blame/hang_file.hpp"
#include "resilience/blame/hang_picture.hpp"
#include "resilience/effective_time/recorded_time.hpp"

namespace tenax::app {

namespace {

// A run that has not ended may have no trace yet.
std::string pipeline_of(const RunData& run) {
  try {
    return pipeline_html(trace_of_run(run.directory));
  } catch (const kernels::Error& error) {
    print_notice(std::string("no pipeline is drawn: ") + error.what());
    return {};
  }
}

/// Of a run that stood still: who waited for whom the last time.
std::string hang_of(const RunData& run) {
  const auto file = resilience::find_last_hang(run.directory);
  if (!file) return {};
  try {
    const resilience::HangDump dump = resilience::read_hang(*file);
    return "<h3>The last hang</h3>\n<figure>" +
           resilience::draw_hang_svg(dump, resilience::find_culprits(dump)) + "</figure>\n";
  } catch (const kernels::Error& error) {
    print_notice(std::string("no hang is drawn: ") + error.what());
    return {};
  }
}

/// Of a run of replicas: what became of its time.
std::string effective_time_of(const RunData& run) {
  if (!run.deck) return {};
  const auto recorded = resilience::read_recorded_time(run.directory, effective_options(*run.deck, 0));
  if (!recorded) return {};
  return "<figure>" + resilience::draw_time_svg(recorded->picture()) + "</figure>\n";
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  constexpr int kMostRuns = 100;
  const CommandLine line({"report", {"out"}, {}, 1, kMostRuns}, arguments);
  std::vector<RunData> runs;
  std::vector<RunPictures> pictures;
  for (const std::string& directory : line.positional()) {
    runs.push_back(load_run(directory));
    const RunData& run = runs.back();
    pictures.push_back({.time = effective_time_of(run) + hang_of(run), .pipeline = pipeline_of(run)});
  }
  tell_apart(runs);
  const std::filesystem::path own = std::filesystem::path(line.positional().front()) / "report.html";
  const std::filesystem::path out = line.text("out", own.string());
  io::write_text_output(out, report_page(runs, pictures));
  if (!io::is_stream(out)) std::printf("%s\n", out.c_str());
  return 0;
}

}  // namespace tenax::app
