// FailSlowModel: how often a training job becomes slow without failing, for how long and how much.
#pragma once

#include "app/simulation/random_times.hpp"

namespace tenax::app {

/// As Greyhound found them in a cluster of 10 000 GPUs (ATC 2025, section 3, table 1; Falcon's figures are the same): of
/// jobs on one node, on four, and of 512 GPUs and more. The study tells which share of the jobs became slow, how much
/// longer these took and how long an episode lasts. How much of its throughput a job loses in an episode is known from
/// cases alone (sections 3.2 to 3.4); how often episodes come follows from the rest:
///
///   episodes an hour = jobs that became slow · share of their time that was lost / (hours an episode · share lost in it)
///
/// A replica is such a job, whatever its size: how this grows beyond 1024 GPUs nobody has told.
struct FailSlowModel {
  double between_s = 0;   ///< mean time from one episode's begin to the next one's; 0: there are none
  double duration_s = 0;  ///< mean
  double least_loss = 0, most_loss = 0;  ///< share of the throughput, each between as likely

  /// Of a job of so many ranks.
  static FailSlowModel of_job(int ranks);
  double draw_loss(RandomTimes& random) const {
    return least_loss + (most_loss - least_loss) * random.uniform();
  }
};

}  // namespace tenax::app
