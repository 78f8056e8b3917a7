// FaultOccasion: in which steps a fault comes, and whether once in a run's life or each time.
#pragma once

#include <cstdint>
#include <filesystem>

namespace tenax::resilience {

/// Thread rule: any thread.
class FaultOccasion {
 public:
  /// In steps from_step ≤ step < to_step (0: for ever). `marker`: a file that is made when the fault
  /// comes, and without which alone it comes, so that no later incarnation suffers it again; empty: it
  /// comes each time.
  FaultOccasion(std::int64_t from_step, std::int64_t to_step, std::filesystem::path marker);

  /// Whether the fault comes now, in `step`. Throws Error(rank) where the marker cannot be made.
  bool comes(std::int64_t step) const;

 private:
  std::int64_t from_step_, to_step_;
  std::filesystem::path marker_;
};

}  // namespace tenax::resilience
