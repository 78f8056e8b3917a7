// IterationForecast: how long an iteration would take with other shares, ring orders or places.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "parallel/replica/layout.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/rank_figures.hpp"
#include "resilience/mitigation/microbatch_shares.hpp"
#include "resilience/mitigation/placement_times.hpp"
#include "resilience/mitigation/run_placement.hpp"

namespace tenax::resilience {

/// A slow component, and what follows from it wherever it is placed.
struct SlowPart {
  Component component;
  double message_s = 0;  ///< of a data or pipeline link: what a message takes beyond a healthy one
};

/// `reports`: by world rank, of the iterations in which it is slow at its place of `grid`. Where they tell
/// only what a link's delay is at the most, nothing is known of what a message takes. A ring sends
/// all messages of a step over each edge, whatever their size: so a link that is slow by bandwidth is
/// told more of than it takes for a smaller message.
SlowPart slow_part(const Component& component, const std::vector<RankReport>& reports,
                   const parallel::ProcessGrid& grid);

/// What a run is known to be when something has become slow.
struct RunPicture {
  const parallel::Layout* layout = nullptr;
  std::vector<RankReport> reports;    ///< by world rank
  std::vector<int> reported_places;   ///< RunPlacement::group_of_place while they were measured
  std::vector<SlowPart> slow;         ///< all that is
  double healthy_iteration_s = 0;     ///< measured
  parallel::TransferModel transfers;  ///< how messages between stages travel
  bool has_rings = false;             ///< data groups' collectives go round rings
  RunPlacement placement;             ///< now
};

/// Iteration = slowest pipeline + slowest data group + what was left of a healthy one (optimizer,
/// control). Pipelines by simulate(), in the layout's order of passes for links that are not slow,
/// planned anew where the layout's policy follows delays. Speeds and delays belong to ranks, work to
/// stages. Pure, but for the memory of what was evaluated; one thread.
class IterationForecast {
 public:
  explicit IterationForecast(RunPicture picture);

  const RunPicture& picture() const { return picture_; }
  double iteration_s(const RunPlacement& placement);
  /// The best shares where ranks are now; `most`: of one pipeline.
  MicrobatchShares shares(int most);
  /// For find_topology_swap(), with the shares of now. Refers to this object.
  GridTimes grid_times();

 private:
  using Groups = std::vector<int>;

  parallel::GridShape shape() const { return picture_.layout->grid; }
  int even() const { return picture_.layout->schedule.microbatches(); }
  void measure_stages();
  double rank_factor(int rank) const;
  double pass_factor(int group, int stage) const;
  double link_s(int upper, int lower) const;
  parallel::PipelineCosts costs(std::span<const int> groups) const;
  double pipeline_s(std::span<const int> groups, int microbatches);
  double data_s(int stage, std::span<const int> groups, const RunPlacement& placement) const;
  bool uses(const SlowPart& link, int stage, std::span<const int> groups,
            const RunPlacement& placement) const;

  RunPicture picture_;
  std::vector<double> stage_scale_;   // measured / the layout's costs
  std::vector<double> tensor_s_;      // of a healthy group's collectives in a microbatch, by stage
  std::vector<double> stage_data_s_;  // healthy, by stage
  std::vector<double> messages_;      // of a ring over an edge in a step, by stage
  double rest_s_ = 0;
  std::map<std::pair<std::vector<double>, int>, double> known_;  // pipelines by costs and microbatches
};

}  // namespace tenax::resilience
