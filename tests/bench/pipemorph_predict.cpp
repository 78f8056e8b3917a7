// pipemorph_predict DECK [--step K] [--svg FILE] [section.key=value …]: what an iteration of an emulated deck should take at step K
// (default: the first), given the constant delays that the deck injects then: by the evaluator, nothing is run. Prints
// "predicted_ms bound_ms", the second being a lower bound of any schedule's time with links as pure latency, and draws it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "app/options.hpp"
#include "io/deck/deck.hpp"
#include "io/run/schedule_file.hpp"
#include "parallel/planner/schedule_planner.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/schedule/gantt.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"

namespace tenax::bench {
namespace {

constexpr double kSecondsPerMs = 1e-3;

double delay_s(const io::InjectEntry& entry, std::int64_t bytes) {
  if (entry.packet_bytes == 0) return entry.delay_ms * kSecondsPerMs;
  const std::int64_t packets =
      std::max<std::int64_t>(1, (bytes + entry.packet_bytes - 1) / entry.packet_bytes);
  return entry.per_packet_ms * static_cast<double>(packets) * kSecondsPerMs;
}

// The delays between stages at a step, added to what the links need anyway.
std::vector<double> link_delays(const io::Deck& deck, const parallel::PipelineCosts& costs,
                                std::int64_t step) {
  std::vector<double> delays = costs.link_delay_s;
  delays.resize(static_cast<std::size_t>(costs.stage_count() - 1));
  for (const io::InjectEntry& entry : deck.inject)
    if (entry.kind == io::FaultKind::link_delay && !entry.stages.empty() && step >= entry.from_step &&
        (entry.to_step == 0 || step < entry.to_step))
      delays[static_cast<std::size_t>(entry.stages.front())] += delay_s(entry, deck.device.activation_bytes);
  return delays;
}

parallel::TransferModel transfer_model(const io::Deck& deck) {
  return deck.pipeline.p2p == io::P2p::direct ? app::adaptation_settings(deck).direct
                                              : parallel::TransferModel{};
}

struct Options {
  std::int64_t step = 0;
  std::string svg;
  std::vector<std::string> overrides;
};

Options parse(std::vector<std::string> words) {
  Options options;
  std::size_t i = 0;
  for (; i + 1 < words.size() && words[i].starts_with("--"); i += 2) {
    if (words[i] == "--step") options.step = std::stoll(words[i + 1]);
    if (words[i] == "--svg") options.svg = words[i + 1];
  }
  options.overrides.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return options;
}

void predict(const std::string& file, const Options& options) {
  const io::Deck deck = io::read_deck(file, options.overrides);
  const parallel::Layout layout = app::plan_layout(deck, 1, 0);
  parallel::PipelineCosts costs = layout.costs;
  costs.link_delay_s = link_delays(deck, costs, options.step);
  const double copies_s =
      deck.pipeline.p2p == io::P2p::delegated ? 2 * deck.device.copy_ms * kSecondsPerMs : 0;
  for (double& delay : costs.link_delay_s) delay += copies_s;
  parallel::PipelineSchedule schedule = layout.schedule;
  const int microbatches = schedule.microbatches();
  if (deck.pipeline.schedule == io::Schedule::adaptive)
    schedule = parallel::plan_adaptive({microbatches, costs, layout.limit, {}, 1}).schedule;
  const parallel::Timeline timeline = parallel::simulate(schedule, costs, transfer_model(deck));
  std::printf("%.2f %.2f\n", 1e3 * timeline.makespan_s,
              1e3 * parallel::makespan_lower_bound_s(microbatches, costs, layout.limit));
  if (options.svg.empty()) return;
  const std::string title =
      deck.run.name + ", " + deck.pipeline.schedule.word() + ", " + deck.pipeline.p2p.word();
  io::write_text_file(options.svg, parallel::draw_gantt_svg(schedule, timeline, title));
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: pipemorph_predict DECK [--step K] [--svg FILE] [section.key=value ...]\n");
    return 2;
  }
  try {
    tenax::bench::predict(argv[1], tenax::bench::parse({argv + 2, argv + argc}));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipemorph_predict: %s\n", error.what());
    return 1;
  }
}
