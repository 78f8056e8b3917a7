// DigestSlices: a rank's training state in slices of elements, whose checksums show whether replicas still have equal states.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/state_range.hpp"
#include "resilience/membership/state_digest.hpp"

namespace tenax::resilience {

/// Equal ranks of all replicas have equal ranges, so a step's digest is that of the same elements everywhere. So many steps in
/// a row as there are slices cover all weights and moments.
class DigestSlices {
 public:
  struct Options {
    std::int64_t slices = 1;
    int rank = 0;  ///< in the replica
    /// The place of the parameter of that name on this rank (PlacedSum).
    std::function<std::int64_t(const std::string& name)> place_of;
  };
  /// The memory of `ranges` must outlive it.
  DigestSlices(const std::vector<io::StateRange>& ranges, const Options& options);

  /// Of the state with which `step` begins: what this rank holds of that step's slice.
  StateDigest of_step(std::int64_t step) const;

 private:
  struct Piece {
    std::int64_t begin, count;  // elements, in the order of the ranges
    std::uint64_t place;
    std::vector<const float*> parts;
  };

  std::int64_t slices_;
  std::uint64_t rank_;
  std::int64_t elements_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace tenax::resilience
