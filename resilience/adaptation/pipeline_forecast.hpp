// PipelineForecast: the times to expect of a pipeline's next iterations, from measurements of the
// last ones.
#pragma once

#include <deque>
#include <vector>

#include "parallel/schedule/pipeline_costs.hpp"
#include "resilience/adaptation/level_tracker.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"

namespace tenax::resilience {

struct ForecastOptions {
  /// For restless links, the quantile that needs the fewest plans at equal times
  /// (tests/bench/adaptation_traces).
  LevelTracker::Options links{.quantile = 0.75};
  LevelTracker::Options passes;
  double material_share = 0.05;  ///< share of the mean pass: less delay than that does not matter
  double floor_s = 3e-4;  ///< nor does less than this: what waking a thread takes where nothing else runs
  std::size_t stall_window = 16;  ///< iterations whose stalls tell how noisy a link's ends are
  double stall_quantile = 0.75;   ///< quantile of those stalls: a delay below it is taken for noise
  double wire_s = 0;          ///< PipelineCosts': what links take while nothing is wrong, where that is known
  double level_share = 0.15;  ///< share of a link's level: less change than that is noise
};

/// Pure. Both directions of a link count as its slower one.
class PipelineForecast {
 public:
  PipelineForecast(int stages, ForecastOptions options);

  void add(const PipelineMeasurement& measurement);

  bool known() const { return passes_.front().forward.known(); }
  int links() const { return static_cast<int>(links_.size()); }
  /// Expected pass times, and delays from start of transmission to arrival.
  parallel::PipelineCosts costs() const;
  /// costs() alone while no link is restless; else the expected pass times with the delays of each
  /// recent iteration.
  std::vector<parallel::PipelineCosts> scenarios() const;
  double delay_s(int link) const { return links_[static_cast<std::size_t>(link)].delay.expected(); }
  bool is_restless(int link) const { return links_[static_cast<std::size_t>(link)].delay.restless(); }
  /// Added to the delay by the link's present path (host copies of a delegate).
  double overhead_s(int link) const { return links_[static_cast<std::size_t>(link)].overhead_s; }
  /// Some link or stage clearly changed in the last iteration.
  bool changed() const;
  /// From this on the link's delay matters: it is worth something beside the passes, and exceeds
  /// what the ranks at its ends stall in most iterations anyway.
  double material_s(int link) const;
  std::vector<double> material_s_of_link() const;
  /// F, B and W of one microbatch.
  double stage_s(int stage) const;

 private:
  struct Link {
    LevelTracker delay;
    double overhead_s = 0;
    std::deque<double> stalls_s = {};  // its ends' in the last iterations
  };
  struct Stage {
    LevelTracker forward, backward_input, backward_weight;
  };

  void add_stall(Link& link, double stall_s) const;
  void add_link(int index, const PipelineMeasurement& measurement);
  std::vector<parallel::StageCosts> pass_times() const;

  ForecastOptions options_;
  std::vector<Link> links_;
  std::vector<Stage> passes_;
};

}  // namespace tenax::resilience
