// Own norms: whether one replica's gradient, before it is summed over replicas, is unlike the others' and its own before.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "resilience/membership/parts.hpp"
#include "resilience/membership/state_digest.hpp"

namespace tenax::resilience {

/// Σg² of the sums over one replica's samples. A sum that is wrong before the exchange reaches all replicas alike: nothing else
/// tells whose it is.
struct OwnSquares {
  double squares = 0;   ///< of all its ranks; 0: not known
  PlacedSum sums = {};  ///< of the bits of each place's
};

/// One replica's, in a step.
struct OwnNorm {
  std::int64_t samples = 0;  ///< 0: it has none, and is not judged
  double squares = 0;
  double usual = 0;  ///< UsualNorm::value() of that replica
};

/// What is usual of a replica.
class UsualNorm {
 public:
  void add(std::int64_t samples, double squares);
  /// The largest Σg² / samples² of the last steps; 0: not known yet.
  double value() const;

 private:
  std::deque<double> last_;
};

/// The index of the replica whose samples are to be computed again by another: its own squares are not finite while another's
/// are, or exceed by far all others' and its usual ones. Pure: members that have the same numbers find the same.
std::optional<std::size_t> doubtful(std::span<const OwnNorm> norms);
/// Whether the same samples, computed again by another replica, have another sum. Rounding does not matter.
bool contradicts(double squares, double again);

}  // namespace tenax::resilience
