// FaultOccasion: when a fault comes, and whether once in a run's life or each time.
#pragma once

#include <cstdint>
#include <filesystem>

#include "resilience/faults/fault_clock.hpp"

namespace tenax::resilience {

/// Thread rule: any thread.
class FaultOccasion {
 public:
  /// Within `window`. `marker`: a file that is made when the fault comes, and without which alone it
  /// comes, so that no later incarnation suffers it again; empty: it comes each time.
  FaultOccasion(const FaultWindow& window, std::filesystem::path marker);

  /// Whether the fault comes now, in `step`, `run_s` after the first one began (0: it has not). Throws
  /// Error(rank) where the marker cannot be made.
  bool comes(std::int64_t step, double run_s) const;

 private:
  FaultWindow window_;
  std::filesystem::path marker_;
};

}  // namespace tenax::resilience
