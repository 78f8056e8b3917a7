#include <cstdio>

#include "app/command_line.hpp"
#include "app/commands/commands.hpp"
#include "app/simulation/simulation_picture.hpp"
#include "app/simulation/simulation_text.hpp"
#include "io/output_place.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

/// A name that cannot be written is a wrong option.
void write_picture(const SimulationReport& report, const std::string& file) try {
  io::write_text_output(file, draw_simulation_svg(report.run.median, report.request.options.replicas,
                                                  simulation_title(report)));
} catch (const kernels::Error& error) {
  throw kernels::Error(kernels::Scope::usage, std::string("--svg: ") + error.what());
}

SimulationReport play(SimulationRequest request) {
  const SimulationOptions& options = request.options;
  SimulationReport report{.request = request,
                          .run = play_seeds(options, request.seeds),
                          .synchronous = play_seeds(as_synchronous(options), request.seeds)};
  for (const SimulationVariant& variant : variants_of(options, request.ranks))
    report.variants.emplace_back(variant.name, play_seeds(variant.options, request.seeds));
  return report;
}

// Also a file that the deck names and that is missing is a fault of what was asked for.
io::Deck read_deck(const std::string& file) {
  try {
    return io::read_deck(file, {});
  } catch (const kernels::Error& error) {
    throw kernels::Error(kernels::Scope::usage, error.what());
  }
}

}  // namespace

int simulate_command(const Arguments& arguments) {
  const CommandLine line(
      {"simulate",
       {"replicas", "ranks", "failure-minutes", "repair-minutes", "spares", "hours", "seeds", "costs", "svg"},
       {"json"},
       1,
       1},
      arguments);
  const io::Deck deck = read_deck(line.positional().front());
  const SimulationReport report = play(SimulationRequest::of(deck, line));
  if (line.has("svg")) write_picture(report, line.text("svg", ""));
  const std::string text = line.has("json") ? simulation_json(report) + "\n" : simulation_text(report);
  std::printf("%s", text.c_str());
  return 0;
}

}  // namespace tenax::app
