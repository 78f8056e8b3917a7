// Reports of ranks whose passes and transfers are made up, with jitter and faults.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/rank_figures.hpp"
#include "resilience/diagnosis/suspects.hpp"

namespace tenax::resilience {

/// The grid of most tests.
inline constexpr parallel::GridShape kSixteenRanks{.tensor = 2, .pipeline = 2, .data = 4};

struct SlowLink {
  parallel::GroupKind group = parallel::GroupKind::data;
  int rank = 0, other = 0;
  double delay_s = 0;  ///< more a transfer; of a ring that it is in, too
};

struct MadeUpFaults {
  std::map<int, double> compute = {};      ///< factor of a rank's passes
  std::map<int, double> preempted_s = {};  ///< how much longer a rank's passes take an iteration: others run
  std::vector<SlowLink> links = {};
};

/// 16 passes an iteration, 8 of 5 ms and 8 of 10 ms. In each a tensor collective of 0.2 ms. At the
/// end 4 data collectives of 2.5 ms. A pipeline message takes 0.1 ms.
class MadeUpRanks {
 public:
  explicit MadeUpRanks(parallel::GridShape shape, std::uint32_t seed = 1)
      : grid(shape), speed(static_cast<std::size_t>(grid.ranks()), 1.0), noise_(seed) {}

  static constexpr double kIteration_s = 0.15;

  parallel::ProcessGrid grid;
  std::vector<double> speed;  ///< seconds of a rank's passes, by rank: healthy or not
  double jitter = 0.025;      ///< of a pass; standard deviation

  /// 24 iterations without a fault, then 3 with them.
  std::vector<RankReport> reports(const MadeUpFaults& faults);
  Suspects suspects(const MadeUpFaults& faults);

 private:
  using Iteration = std::vector<RankFigures>;  // by rank
  Iteration iteration(const MadeUpFaults& faults);
  Iteration medians(int iterations, const MadeUpFaults& faults);
  std::vector<double> run_passes(const MadeUpFaults& faults, Iteration& figures);
  void exchange(const MadeUpFaults& faults, const std::vector<double>& ready_s, Iteration& figures);
  void send_messages(const MadeUpFaults& faults, Iteration& figures);
  double normal() { return std::normal_distribution<double>()(noise_); }

  std::mt19937 noise_;
};

/// What is suspect, in words: "rank 3 compute", "tensor link 0-1", "data group 0 2 4 6", "common".
/// Those of a list are in the order of the search.
std::vector<std::string> words_of(const Suspects& suspects);

}  // namespace tenax::resilience
