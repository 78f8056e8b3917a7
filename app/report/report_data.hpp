// What a report shows of runs, before it is drawn.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/deck/deck.hpp"
#include "io/run/run_series.hpp"

namespace tenax::app {

struct RunData {
  std::string name;
  std::string
      label;  ///< what tells it from the page's other runs: the name, with the folder where names are equal
  std::filesystem::path directory;
  std::string deck_text;         ///< the resolved deck; empty if there is none
  std::optional<io::Deck> deck;  ///< absent where this version cannot read it
  io::RunSeries series;
  std::vector<io::EventLine> events;
  double flop_per_token = 0;  ///< what the model takes; 0: there is no model
  std::string
      simulation;  ///< simulation.svg, which `tenax simulate` has left there; empty where there is none
};

/// Throws Error(rank) unless the directory is one of a run.
RunData load_run(const std::filesystem::path& directory);

/// Sets the labels.
void tell_apart(std::vector<RunData>& runs);

struct Curve {
  std::vector<double> x, y;
  std::vector<double> low, high;  ///< where a point stands for many: their range; else empty
};

/// The points of x, y whose y is finite; where they are more than can be seen, kCurveStretches
/// means of equal stretches with their ranges, so that no peak is lost.
constexpr std::size_t kCurveStretches = 600;
Curve decimated(const std::vector<double>& x, const std::vector<double>& y);

/// The value in the middle; 0 of nothing. Not-a-numbers are left out.
double median(std::vector<double> values);

/// What the page's script draws: {"runs": [{name, curves, axes, events, …}], "histogram": {low,
/// high, slowest, runs}}.
std::string chart_data_json(const std::vector<RunData>& runs);

}  // namespace tenax::app
