#include "app/commands/commands.hpp"

#include <cstdio>

#include "app/command_line.hpp"
#include "app/console.hpp"
#include "app/report/report_data.hpp"
#include "app/report/report_page.hpp"
#include "io/run/trace_file.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "resilience/blame/hang_file.hpp"
#include "resilience/blame/hang_picture.hpp"

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

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  constexpr int kMostRuns = 100;
  const CommandLine line({"report", {"out"}, {}, 1, kMostRuns}, arguments);
  std::vector<RunData> runs;
  std::vector<std::string> pipelines;
  for (const std::string& directory : line.positional()) {
    runs.push_back(load_run(directory));
    pipelines.push_back(pipeline_of(runs.back()) + hang_of(runs.back()));
  }
  tell_apart(runs);
  const std::filesystem::path own = std::filesystem::path(line.positional().front()) / "report.html";
  const std::filesystem::path out = line.text("out", own.string());
  io::write_file_atomically(out, report_page(runs, pipelines));
  std::printf("%s\n", out.c_str());
  return 0;
}

}  // namespace tenax::app
